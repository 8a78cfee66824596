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

test("each owner has a user id of its own, the same one every time", () => {
  const range = { first: 200_000, count: 10 };
  expect(["a", "b", "a", "c"].map((owner) => allotUser(folder, owner, range))).toEqual([
    200_000, 200_001, 200_000, 200_002,
  ]);
});

test("a user id that was written down for nobody in the end is not given out again", () => {
  symlinkSync("a", join(folder, "200000"));
  expect(allotUser(folder, "a", { first: 200_000, count: 10 })).toBe(200_001);
});

test("an owner that is no more leaves nothing, and nobody gets its number", () => {
  const range = { first: 200_000, count: 10 };
  for (const owner of ["a", "b", "c"]) allotUser(folder, owner, range);
  for (const owner of ["a", "c", "c", "nobody"]) retireUser(folder, owner);
  expect(readdirSync(folder).sort()).toEqual(["200001", "200002", "of-b"]);
  expect([allotUser(folder, "a", range), allotUser(folder, "b", range)]).toEqual([200_003, 200_001]);
  for (const owner of ["a", "b"]) retireUser(folder, owner);
  expect(readdirSync(folder)).toEqual(["200003"]);
  expect(allotUser(folder, "d", range)).toBe(200_004);
});

test("a range that is used up is said with its numbers", () => {
  const range = { first: 300_000, count: 2 };
  for (const owner of ["a", "b"]) allotUser(folder, owner, range);
  expect(() => allotUser(folder, "c", range)).toThrow("All 2 user ids from 300000 on were given to databases.");
  expect(allotUser(folder, "b", range)).toBe(300_001);
  expect(readdirSync(folder).sort()).toEqual(["300000", "300001", "of-a", "of-b"]);
});
