import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./lib/paths.mjs";

const page = readFileSync(join(ROOT, "docs", "security.md"), "utf8");
const ROW = /^\| (\d+\.\d+\.\d+) \| (L[12]) \| [^|]+ \| (met|not met) \| ([^|]+) \|$/gm;

test("docs/security.md names test files that exist", () => {
  const named = [...page.matchAll(/`([\w./-]+\.test\.ts)`/g)].map(([, file = ""]) => file);
  expect(named.length).toBeGreaterThan(50);
  expect([...new Set(named)].filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});

test("docs/security.md lists each requirement once with proof or reason", () => {
  const rows = [...page.matchAll(ROW)].map(([, id]) => id);
  // a row in another format is not counted
  expect(rows.length).toBe(page.split("\n").filter((line) => /^\| \d+\.\d+\.\d+ /.test(line)).length);
  expect(rows.length).toBeGreaterThan(150);
  expect(new Set(rows).size).toBe(rows.length);
});
