import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { createSteadyClock } from "./steady-clock.ts";

test("a steady clock ignores changes of the machine's clock", async () => {
  const clock = createSteadyClock();
  const before = clock.now();
  expect(Math.abs(before - Date.now())).toBeLessThan(1_000);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 3_600_000 });
  try {
    await sleep(5);
    const back = clock.now();
    vi.setSystemTime(Date.now() + 86_400_000);
    expect(clock.now()).toBeGreaterThanOrEqual(back);
    expect([back > before, clock.now() - before < 60_000]).toEqual([true, true]);
  } finally {
    vi.useRealTimers();
  }
});
