import { cpSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { recordPlace, refuseCopiedHome } from "./home-copy.ts";
import { type LockResult, tryLock } from "./numbered-lock.ts";

let folder: string;
let home: string;
let copy: string;
const locksOf = (one: string) => join(one, "server", "locks");
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "appdb-copies-")));
  [home, copy] = [join(folder, "home"), join(folder, "copy")];
  mkdirSync(locksOf(home), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Locks the home for this process, as a server does. */
function lock(prefix = "role-reconciler."): Extract<LockResult, { outcome: "acquired" }> {
  const result = tryLock(locksOf(home), prefix);
  if (result.outcome !== "acquired") throw new Error("The lock is taken.");
  recordPlace(home, locksOf(home));
  return result;
}
const refuse = (one: string) => refuseCopiedHome(one, locksOf(one), "daemon");

test.each(["daemon.", "gateway.", "role-reconciler."])("refuses a copy while a process holds '%s'", (prefix) => {
  const held = lock(prefix);
  cpSync(home, copy, { recursive: true });
  expect(() => refuse(copy)).toThrowError(
    expect.objectContaining({
      code: "home_copied",
      message: expect.stringContaining(
        `The home ${copy} is a copy of ${home}, which is in use by process ${process.pid}.`,
      ),
      hint: expect.stringContaining(`SERVICE_HOME='${home}' cli daemon stop`),
    }),
  );
  expect(() => refuse(home)).not.toThrow();
  held.release();
  expect(() => refuse(copy)).not.toThrow();
});

test("accepts a copy of a home that is not in use, and later the original", () => {
  lock().release();
  cpSync(home, copy, { recursive: true });
  refuse(copy);
  recordPlace(copy, locksOf(copy));
  lock();
  for (const one of [home, copy]) expect(() => refuse(one)).not.toThrow();
});

test("accepts a home that was moved, and one that is reached by a link", () => {
  lock();
  renameSync(home, copy);
  expect(() => refuse(copy)).not.toThrow();
  symlinkSync(copy, home);
  for (const one of [home, copy]) expect(() => refuse(one)).not.toThrow();
});

test("accepts a moved home whose previous place another one took", () => {
  lock();
  renameSync(home, copy);
  mkdirSync(locksOf(home), { recursive: true });
  expect(() => refuse(copy)).not.toThrow();
});
