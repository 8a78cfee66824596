import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MUTATIONS } from "./lib/mutations.mjs";
import { ROOT } from "./lib/paths.mjs";
import { projectOf } from "./lib/test-files.mjs";

const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

test("each fault has one place in its file and an existing test", () => {
  const wrong = MUTATIONS.flatMap(({ file, from, project, takes, test: name, test_file: testFile, to }) => [
    ...(read(file).split(from).length === 2 ? [] : [`${takes}: ${file} does not have this once: ${from}`]),
    ...(projectOf(testFile) === project ? [] : [`${takes}: ${testFile} is not of the project ${project}`]),
    ...(from === to ? [`${takes}: nothing is planted`] : []),
    ...(read(testFile).includes(name) ? [] : [`${takes}: ${testFile} has no test "${name}"`]),
  ]);
  expect(wrong).toEqual([]);
  expect(MUTATIONS.length).toBeGreaterThanOrEqual(20);
});
