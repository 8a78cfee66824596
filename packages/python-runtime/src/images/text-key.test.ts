import { expect, test } from "vitest";
import { textKey } from "./text-key.ts";

test("gives paths that differ in one character different file names", () => {
  const paths = Array.from({ length: 20_000 }, (_, n) => `/home/somebody/projects/${n}/.venv/bin/python3`);
  const keys = new Set(paths.map(textKey));
  expect(keys.size).toBe(paths.length);
  expect([...keys].every((key) => /^[0-9a-f]{16}$/.test(key))).toBe(true);
});

test("gives one path one name, including empty and non-ASCII paths", () => {
  for (const path of ["", "/a", "/ä/😀"]) expect(textKey(path)).toBe(textKey(path));
});
