import { expect, test } from "vitest";
import { createLockWaits, LONG_LOCK_TIMEOUT_MS as LONG, LOCK_TIMEOUT_MS as SHORT } from "./table-locks.ts";

test("a change asks long for its lock after some seconds of short attempts, and ever more rarely", () => {
  let now = 0;
  const lockWait = createLockWaits(() => now);
  const times = [0, 3_999, 4_000, 4_000 + LONG, 14_499, 14_500, 14_500 + LONG + 15_999, 14_500 + LONG + 16_000];
  const waits = times.map((time) => {
    now = time;
    return lockWait("other");
  });
  expect(waits).toEqual([SHORT, SHORT, LONG, SHORT, SHORT, LONG, SHORT, LONG]);
});

test("a change asks long as soon as only reads that began after it hold the table", () => {
  let now = 0;
  const lockWait = createLockWaits(() => now);
  const seen = (["other", "old", "old", "new", "new", "new", "old"] as const).map((holders) => {
    now += 2_000;
    return lockWait(holders);
  });
  expect(seen).toEqual([SHORT, SHORT, SHORT, LONG, SHORT, LONG, SHORT]);
});
