import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./lib/paths.mjs";
import { LONG_RUNS, projectOf } from "./lib/test-files.mjs";

/** Of the whole repository. */
const FILES = ["packages", "apps", "e2e", "scripts"].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts") && !file.includes("node_modules"))
    .map((file) => `${folder}/${file.replaceAll("\\", "/")}`),
);
const isRun = (file: string) =>
  LONG_RUNS.some(({ names, project }) => project === projectOf(file) && names.some((name) => file.includes(name)));

test("the long form runs every file that has one", () => {
  const long = FILES.filter(
    (file) =>
      file.includes(".long.") || /process\.env\.(APPDB_FAULTS|\w+_CASES)/.test(readFileSync(join(ROOT, file), "utf8")),
  );
  expect(long.length).toBeGreaterThan(15);
  expect(long.filter((file) => !isRun(file))).toEqual([]);
});

test("every name of the long form is that of a file", () => {
  const unknown = LONG_RUNS.flatMap(({ names, project }) =>
    names.filter((name) => !FILES.some((file) => projectOf(file) === project && file.includes(name))),
  );
  expect(unknown).toEqual([]);
});
