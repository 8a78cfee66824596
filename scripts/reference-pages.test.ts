import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ERRORS } from "@appdb/contract/errors";
import { expect, test } from "vitest";
import { ROOT } from "./lib/paths.mjs";
import { fillPages, referencePages } from "./lib/reference-pages.ts";
import { pythonStubs } from "./lib/stubs.ts";

const pages = referencePages();

test.each(Object.entries(pages))("docs/%s matches the code (npm run docs)", (name, text) => {
  expect(readFileSync(join(ROOT, "docs", name), "utf8")).toBe(text);
});

test.each([
  ["a setting without a row", /^\| `SERVICE_PORT` .*\n/m, "", /the rows of 'settings'/],
  ["a setting with two rows", /^\| `SERVICE_PORT` .*\n/m, "$&$&", /the rows of 'settings'/],
  ["a number that no page shows", /<!-- value: STREAMS -->/, "", /no page uses 'STREAMS'/],
  ["a number that the code lacks", /<!-- value: STREAMS -->/, "<!-- value: RIVERS -->", /No value named 'RIVERS'/],
])("refuses pages with %s", (_, found, replacement, problem) => {
  const changed = Object.entries(pages).map(([name, text]) => [name, text.replace(found, replacement)]);
  expect(() => fillPages(Object.fromEntries(changed))).toThrow(problem);
});

test.each(Object.entries(pythonStubs()))("%s matches the library's code (npm run docs)", (path, text) => {
  expect(readFileSync(join(ROOT, path), "utf8")).toBe(text);
});

test("docs/errors.md lists every code once", () => {
  const listed = [...(pages["errors.md"] ?? "").matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code);
  expect(listed.toSorted()).toEqual(Object.keys(ERRORS).toSorted());
});
