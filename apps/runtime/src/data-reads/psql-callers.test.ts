import { PSQL_BLOCKS, PSQL_PAUSE_MINUTES } from "@appdb/contract/routes/psql";
import { expect, test } from "vitest";
import { PsqlCallers } from "./psql-callers.ts";

const PAUSE_MS = PSQL_PAUSE_MINUTES * 60_000;

function open() {
  const clock = { now: 5_000 };
  return { clock, callers: new PsqlCallers(() => clock.now) };
}

test("a caller whose sessions block too often pauses, and others do not", () => {
  const { callers, clock } = open();
  for (let n = 1; n < PSQL_BLOCKS; n += 1) callers.count("person 1");
  callers.admit("person 1");
  callers.count("person 1");
  expect(callers.isPaused("person 1")).toBe(true);
  callers.admit("person 2");
  clock.now += PAUSE_MS - 1_500;
  expect(() => callers.admit("person 1")).toThrow(
    expect.objectContaining({
      code: "psql_paused",
      message: "Your sessions of psql made others wait too often. The database opens the next one in 2 seconds.",
      meta: { retry_after_s: 2 },
    }),
  );
  clock.now += 1_500;
  callers.admit("person 1");
});

test("blocks of long ago do not count", () => {
  const { callers, clock } = open();
  for (let n = 0; n < 2 * PSQL_BLOCKS; n += 1) {
    callers.count("person 1");
    callers.admit("person 1");
    clock.now += PAUSE_MS / (PSQL_BLOCKS - 1);
  }
});

test("a caller whose session ended by its own count pauses too", () => {
  const { callers } = open();
  callers.pause("person 1");
  expect(() => callers.admit("person 1")).toThrow(expect.objectContaining({ code: "psql_paused" }));
});
