import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { logOutagesOnce } from "./log-outages.ts";

test("an outage is logged once for each reason, and the next one again", () => {
  const lines = createSilentLog();
  let now = 0;
  const log = logOutagesOnce(lines, () => now);
  const fail = (detail: string) => log.warn({ code: "database_unavailable", detail }, "request failed");
  for (let request = 0; request < 100; request++) {
    fail("it is not running");
    now += 1_000;
  }
  fail("it is starting up");
  fail("it is not running");
  const reasons = () =>
    lines.lines.flatMap(({ fields, level }) => (level === "warn" && "detail" in fields ? [fields.detail] : []));
  expect(reasons()).toEqual(["it is not running", "it is starting up"]);
  now += 11_000;
  fail("it is not running");
  expect(reasons()).toHaveLength(3);
});

test("other failures are logged for each request", () => {
  const lines = createSilentLog();
  const log = logOutagesOnce(lines);
  log.warn({ code: "disk_full", detail: "x" }, "request failed");
  log.warn({ code: "disk_full", detail: "x" }, "request failed");
  log.warn({}, "something else");
  log.error({ code: "database_unavailable" }, "request failed");
  log.info({}, "x");
  log.debug({}, "x");
  expect(lines.lines).toHaveLength(6);
});
