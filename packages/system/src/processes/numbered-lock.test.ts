import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { tryLock, waitForLock } from "./numbered-lock.ts";

let parent: string;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "appdb-lock-"));
});

afterEach(() => rmSync(parent, { recursive: true, force: true }));

test("one process at a time holds a lock and each waiter gets it", async () => {
  const folder = join(parent, "one");
  let inside = 0;
  let turns = 0;
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      using _lock = await waitForLock(folder, "lock.");
      inside += 1;
      expect(inside).toBe(1);
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
      turns += 1;
    }),
  );
  expect(turns).toBe(20);
});

test("waits for a lock until its signal aborts", async () => {
  using _lock = await waitForLock(parent, "lock.");
  await expect(waitForLock(parent, "lock.", AbortSignal.timeout(20))).rejects.toMatchObject({ name: "AbortError" });
});

test("removing the folder with the lock frees the name", () => {
  const folder = join(parent, "one");
  const lock = tryLock(folder, "lock.");
  expect(lock.outcome).toBe("acquired");
  renameSync(folder, join(parent, "gone"));
  expect(tryLock(folder, "lock.").outcome).toBe("acquired");
  if (lock.outcome === "acquired") lock.release();
  expect(tryLock(folder, "lock.").outcome).toBe("taken");
});
