import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import type { HealthProblem } from "./problems.ts";
import { createHealth } from "./server-health.ts";

const LOW: HealthProblem = { code: "disk_low", what: "The disk has 1.50 GB left." };

test("concurrent callers share one check, and a slow part is asked once", async () => {
  let asked = 0;
  const tell = async () => {
    asked += 1;
    return [LOW];
  };
  const health = createHealth({ tells: [tell], clock: { now: Date.now }, log: createSilentLog() });
  const [one, other] = await Promise.all([health.check(), health.check()]);
  expect(one).toBe(other);
  expect(one).toMatchObject({ status: "degraded", problems: [LOW] });
  expect(asked).toBe(1);
});

test("parts that start later are checked too", async () => {
  const tells: (() => HealthProblem[])[] = [];
  const health = createHealth({ tells, clock: { now: Date.now }, log: createSilentLog() });
  tells.push(() => [LOW]);
  expect((await health.check()).problems).toMatchObject([LOW]);
});
