import { expect, test } from "vitest";
import { fileNameOf } from "./file-name.ts";

test.each([
  ["win32", "aux", "_aux"],
  ["win32", "com1", "_com1"],
  ["win32", "auxiliary", "auxiliary"],
  ["linux", "aux", "aux"],
] as const)("on %s names the file of %s as %s", (platform, name, file) => {
  expect(fileNameOf(name, platform)).toBe(file);
});
