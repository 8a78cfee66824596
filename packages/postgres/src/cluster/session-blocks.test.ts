import { expect, test } from "vitest";
import { findRoots, type LockWait } from "./session-blocks.ts";

const ROW = { table: null, is_change: false };
const TABLE = { table: "docs", is_change: false };
const CHANGE = { table: "docs", is_change: true };

function engine(pid: number, blockers: readonly number[], of: Pick<LockWait, "table" | "is_change">): LockWait {
  return { pid, is_session: false, blockers, ...of };
}

function session(pid: number, blockers: readonly number[], of: Pick<LockWait, "table" | "is_change">): LockWait {
  return { ...engine(pid, blockers, of), is_session: true };
}

const roots = (...waits: readonly LockWait[]) => [...findRoots(waits)];

test("the holder of a lock is found, and not for waits of sessions", () => {
  expect(roots(engine(1, [7], ROW))).toEqual([[7, false]]);
  expect(roots(session(1, [7], ROW))).toEqual([]);
  expect(roots()).toEqual([]);
});

test("a blocker that waits is skipped for the end of the chain", () => {
  expect(roots(engine(1, [2], ROW), session(2, [3], ROW), session(3, [7], ROW))).toEqual([[7, false]]);
  expect(roots(engine(1, [2, 8], ROW), session(2, [7], ROW))).toEqual([
    [7, false],
    [8, false],
  ]);
});

test("waits in a circle have no end", () => {
  expect(roots(engine(1, [2], ROW), session(2, [3], ROW), session(3, [2], ROW))).toEqual([]);
});

test("readers behind a change do not count for what the change waits for", () => {
  expect(roots(engine(1, [2], TABLE), engine(2, [7], CHANGE))).toEqual([
    [2, false],
    [7, true],
  ]);
  expect(roots(engine(2, [7], CHANGE), engine(3, [7], TABLE))).toEqual([[7, false]]);
});

test("a request that others only queue behind is found, and not the reader that it waits for", () => {
  expect(roots(engine(1, [2], TABLE), session(2, [7], CHANGE))).toEqual([[2, false]]);
  // the first of the queue
  expect(roots(engine(1, [2, 3], TABLE), session(2, [7], CHANGE), session(3, [2], TABLE))).toEqual([[2, false]]);
});

test("a request in the queue is skipped while someone has the lock", () => {
  expect(roots(engine(1, [2, 7], CHANGE), session(2, [7], TABLE))).toEqual([[7, true]]);
});
