import type { Clock } from "@appdb/engine/ports";

/**
 * A clock that starts at the current time of day and then advances monotonically. Setting the machine's clock does not
 * affect it. Use it for durations within one process, not for dates.
 */
export function createSteadyClock(): Clock {
  const begun = Date.now() - performance.now();
  return { now: () => begun + performance.now() };
}
