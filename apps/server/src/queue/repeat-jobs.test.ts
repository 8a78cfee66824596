import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { repeatJobs } from "./repeat-jobs.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
let asked: string[];
const deps = {
  log: createSilentLog(),
  enqueue: async (name: string) => {
    asked.push(name);
  },
};

beforeEach(() => {
  asked = [];
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test.each([
  ["set back by a day", -DAY_MS],
  ["set forward by a day", DAY_MS],
])("repeated jobs keep their interval when the clock is %s", async (_set, byMs) => {
  using _repeating = await repeatJobs(deps);
  expect(asked.splice(0)).toEqual(["sweep", "collect"]);
  vi.setSystemTime(Date.now() + byMs);
  await vi.advanceTimersByTimeAsync(3 * MINUTE_MS);
  expect(asked.splice(0)).toEqual(["sweep", "sweep", "sweep"]);
  await vi.advanceTimersByTimeAsync(57 * MINUTE_MS);
  expect(asked.filter((name) => name === "collect")).toHaveLength(1);
});

test("a failed request is repeated at the next interval, and stops after disposal", async () => {
  let isDown = false;
  const enqueue = async (name: string) => {
    if (isDown) throw new Error("no connection");
    asked.push(name);
  };
  const repeating = await repeatJobs({ ...deps, enqueue });
  isDown = true;
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  isDown = false;
  asked = [];
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  expect(asked.splice(0)).toEqual(["sweep"]);
  repeating[Symbol.dispose]();
  await vi.advanceTimersByTimeAsync(DAY_MS);
  expect(asked).toEqual([]);
});
