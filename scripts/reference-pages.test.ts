import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ERRORS } from "@appdb/contract/errors";
import { expect, test } from "vitest";
import { ROOT } from "./lib/paths.mjs";
import { referencePages } from "./lib/reference-pages.ts";
import { pythonStubs } from "./lib/stubs.ts";

test.each(Object.entries(referencePages()))("docs/%s says what the code says (npm run docs)", (name, text) => {
  expect(readFileSync(join(ROOT, "docs", name), "utf8")).toBe(text);
});

test.each(Object.entries(pythonStubs()))("%s says what the library's code says (npm run docs)", (path, text) => {
  expect(readFileSync(join(ROOT, path), "utf8")).toBe(text);
});

test("docs/errors.md has every code once", () => {
  const listed = [...(referencePages()["errors.md"] ?? "").matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code);
  expect(listed.toSorted()).toEqual(Object.keys(ERRORS).toSorted());
});
