import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { logOutages } from "./outages.ts";

const GONE = "it is not running";

function failing(options?: Parameters<typeof logOutages>[1]) {
  const log = createSilentLog();
  const outages = logOutages(log, options);
  const fail = (reason?: string) => outages.failed(reason, { reason }, "could not look");
  const warned = () => log.lines.filter(({ level }) => level === "warn").map(({ fields }) => Object.values(fields)[0]);
  return { fail, log, outages, warned };
}

test("logs each reason of an outage once, and repetitions for debugging", () => {
  const { fail, log, warned } = failing();
  fail(GONE);
  fail(GONE);
  fail("it is starting up");
  fail(GONE);
  expect(warned()).toEqual([GONE, "it is starting up"]);
  expect(log.lines.filter(({ level }) => level === "debug")).toHaveLength(2);
});

test("logs the next outage after the part has worked", () => {
  const { fail, outages, warned } = failing();
  fail(GONE);
  outages.worked();
  fail(GONE);
  expect(warned()).toEqual([GONE, GONE]);
});

test("logs all other failures, after which an outage is another one", () => {
  const { fail, warned } = failing();
  fail(GONE);
  fail();
  fail();
  fail(GONE);
  expect(warned()).toEqual([GONE, undefined, undefined, GONE]);
});

test("an outage ends after a time without failures only if it has one", () => {
  let now = 0;
  const quiet = failing({ quiet_ms: 10_000, now: () => now });
  const lasting = failing({ now: () => now });
  for (const wait of [0, 9_000, 9_000, 11_000]) {
    now += wait;
    quiet.fail(GONE);
    lasting.fail(GONE);
  }
  expect(quiet.warned()).toEqual([GONE, GONE]);
  expect(lasting.warned()).toEqual([GONE]);
});
