import { mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { allotUser, retireUser } from "./pod-users.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "users-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("gives each owner its own stable user id", () => {
  const range = { first: 200_000, count: 10 };
  expect(["a", "b", "a", "c"].map((owner) => allotUser(folder, owner, range))).toEqual([
    200_000, 200_001, 200_000, 200_002,
  ]);
});

test("does not reuse a user id whose allotment was interrupted", () => {
  symlinkSync("a", join(folder, "200000"));
  expect(allotUser(folder, "a", { first: 200_000, count: 10 })).toBe(200_001);
});

test("a removed owner leaves nothing and its number is not reused", () => {
  const range = { first: 200_000, count: 10 };
  for (const owner of ["a", "b", "c"]) allotUser(folder, owner, range);
  for (const owner of ["a", "c", "c", "nobody"]) retireUser(folder, owner);
  expect(readdirSync(folder).sort()).toEqual(["200001", "200002", "of-b"]);
  expect([allotUser(folder, "a", range), allotUser(folder, "b", range)]).toEqual([200_003, 200_001]);
  for (const owner of ["a", "b"]) retireUser(folder, owner);
  expect(readdirSync(folder)).toEqual(["200003"]);
  expect(allotUser(folder, "d", range)).toBe(200_004);
});

test("reports an exhausted range with its numbers", () => {
  const range = { first: 300_000, count: 2 };
  for (const owner of ["a", "b"]) allotUser(folder, owner, range);
  expect(() => allotUser(folder, "c", range)).toThrow("All 2 user ids from 300000 on were given to databases.");
  expect(allotUser(folder, "b", range)).toBe(300_001);
  expect(readdirSync(folder).sort()).toEqual(["300000", "300001", "of-a", "of-b"]);
});
