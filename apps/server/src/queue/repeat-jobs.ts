import type { Logger } from "@appdb/engine/ports";
import { createOutageLog } from "../database/outage-log.ts";

/** Repeated jobs: continuing unfinished work, and removing unused data. */
const REPEATED = [
  { name: "sweep", every_ms: 60_000 },
  { name: "collect", every_ms: 3_600_000 },
] as const;
type RepeatedJob = (typeof REPEATED)[number]["name"];

export interface RepeatDeps {
  readonly log: Logger;
  /** Adds a job that is due at once. Replaces a waiting one with its name. */
  enqueue(name: RepeatedJob): Promise<void>;
}

/**
 * Requests each repeated job now and then at its interval, until disposal. Uses a monotonic clock. With the system
 * clock, jobs would pause after it is set back, and run for every skipped minute otherwise.
 */
export async function repeatJobs({ enqueue, log }: RepeatDeps): Promise<Disposable> {
  for (const { name } of REPEATED) await enqueue(name);
  const outage = createOutageLog(log);
  const timers = REPEATED.map(({ every_ms: everyMs, name }) =>
    setInterval(() => {
      enqueue(name).then(outage.worked, (error) =>
        outage.failed(error, "could not request a repeated job", { job: name }),
      );
    }, everyMs),
  );
  return {
    [Symbol.dispose]: () => {
      for (const timer of timers) clearInterval(timer);
    },
  };
}
