import { expect, test } from "vitest";
import { createProblemLog, HEALTH_PROBLEMS, type HealthProblem, PROBLEM_CODES, statusOf } from "./problems.ts";

const DOWN: HealthProblem = { code: "gateway_down", what: "The gateway does not answer." };
const LOW: HealthProblem = { code: "disk_low", what: "The disk has 1.50 GB left." };
const PLAIN: HealthProblem = { code: "pods_not_isolated", what: "Pods run as plain processes." };

test("the worst problem decides the status", () => {
  expect(statusOf([])).toBe("ok");
  expect(statusOf([PLAIN])).toBe("ok");
  expect(statusOf([PLAIN, LOW])).toBe("degraded");
  expect(statusOf([LOW, DOWN])).toBe("failing");
  for (const code of PROBLEM_CODES) expect(["failing", "degraded", "notice"]).toContain(HEALTH_PROBLEMS[code]);
});

test("a problem keeps its start time while it lasts, even if its text changes", () => {
  let now = Date.parse("2026-11-25T10:00:00Z");
  const log = createProblemLog({ now: () => now });
  const since = "2026-11-25T10:00:00.000Z";
  expect(log.note([LOW])).toEqual({ problems: [{ ...LOW, since }], started: [{ ...LOW, since }], ended: [] });
  now += 60_000;
  const lower = { ...LOW, what: "The disk has 1.10 GB left." };
  const later = { ...DOWN, since: "2026-11-25T10:01:00.000Z" };
  expect(log.note([lower, DOWN])).toEqual({ problems: [{ ...lower, since }, later], started: [later], ended: [] });
});

test("a problem that returns gets a new start time", () => {
  let now = Date.parse("2026-11-25T10:00:00Z");
  const log = createProblemLog({ now: () => now });
  log.note([DOWN]);
  expect(log.note([]).ended).toEqual([{ ...DOWN, since: "2026-11-25T10:00:00.000Z" }]);
  now += 5_000;
  expect(log.note([DOWN]).problems).toEqual([{ ...DOWN, since: "2026-11-25T10:00:05.000Z" }]);
});
