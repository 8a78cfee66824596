import { expect, test } from "vitest";
import { createRateLimits } from "./rate-limits.ts";

test("limits each key of each database to its rate, and refills over time", () => {
  let now = 0;
  const rates = createRateLimits(3, () => now);
  const take = (key = "a", database = "main") => rates.take(database, key)?.is_allowed;
  expect([take(), take(), take(), take()]).toEqual([true, true, true, false]);
  expect([take("b"), take("a", "other")]).toEqual([true, true]);
  expect(rates.take("main", "a")).toEqual({ is_allowed: false, left: 0, wait_s: 1 });
  now += 340;
  expect([take(), take()]).toEqual([true, false]);
  now += 60_000;
  expect(rates.take("main", "a")).toMatchObject({ is_allowed: true, left: 2 });
  expect(createRateLimits(0).take("main", "a")).toBeNull();
});
