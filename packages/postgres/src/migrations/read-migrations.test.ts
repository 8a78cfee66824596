import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readCatalogMigrations, readMigrations } from "./read-migrations.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-migrations-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
const read = () => readMigrations([join(folder, "missing"), folder]);

test("reads the files of the first folder that exists, by number", () => {
  write("0010_ten.sql", "-- More.\nselect 10;\n-- breaking: not in the header\n");
  write("0002_two.sql", "-- Some.\n-- breaking: an older version reads other columns\nselect 2;\n");
  write("README.md", "");
  expect(read().map(({ number, name, is_breaking: isBreaking }) => [number, name, isBreaking])).toEqual([
    [2, "0002_two.sql", true],
    [10, "0010_ten.sql", false],
  ]);
  expect(read()[1]?.sql).toMatch(/select 10;/);
});

test("rejects two files of one number", () => {
  write("0001_one.sql", "-- Why.\nselect 1;\n");
  write("0001_other.sql", "-- Why.\nselect 2;\n");
  expect(read).toThrow("0001_other.sql has the number of another migration");
});

test("names the folders when none exists", () => {
  expect(() => readMigrations([join(folder, "missing")])).toThrow(/in none of .*missing\.$/);
});

test.each([
  ["first.sql", "-- Why.\n", "is not named like 0001_identity.sql"],
  ["0001_first.sql", "select 1;\n", "does not begin with a comment"],
  ["0001_first.sql", "-- Why.\n-- breaking\nselect 1;\n", 'expected "-- breaking: <why>"'],
])("rejects %s with the text %j", (name, text, message) => {
  write(name, text);
  expect(read).toThrow(message);
});

test("the catalog's migrations are numbered without a gap, and the mark says which are breaking", () => {
  const migrations = readCatalogMigrations();
  expect(migrations.map(({ number }) => number)).toEqual(migrations.map((_, at) => at + 1));
  expect(migrations.flatMap((migration) => (migration.is_breaking ? [migration.number] : []))).toEqual([1, 3, 8, 10]);
});
