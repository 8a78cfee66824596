import type { Clock } from "@appdb/engine/ports";

/**
 * A clock that shows the time of day as it was when it was made and goes on at its own pace: whoever sets the machine's clock neither
 * stops it nor makes it jump. For how long something takes or is ago, within one process; not for dates.
 */
export function createSteadyClock(): Clock {
  const begun = Date.now() - performance.now();
  return { now: () => begun + performance.now() };
}
