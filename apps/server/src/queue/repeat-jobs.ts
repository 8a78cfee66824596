import type { Logger } from "@appdb/engine/ports";
import { sayError } from "../database/pool.ts";

/** Of what is done again and again: finding what was left undone, and removing what nothing uses. */
const REPEATED = [
  { name: "sweep", every_ms: 60_000 },
  { name: "collect", every_ms: 3_600_000 },
] as const;
type RepeatedJob = (typeof REPEATED)[number]["name"];

export interface RepeatDeps {
  readonly log: Logger;
  /** Adds a job that is due at once; one of its name that waits is replaced. */
  enqueue(name: RepeatedJob): Promise<void>;
}

/**
 * Asks for each repeated job at once and then in its time, until it is disposed of. Times are measured by a clock that nobody sets: by the
 * clock of the day, as a crontab counts, what repeats would stand still for as long as that was set back, and be made up for minute by
 * minute where it was set forward.
 */
export async function repeatJobs({ enqueue, log }: RepeatDeps): Promise<Disposable> {
  for (const { name } of REPEATED) await enqueue(name);
  const timers = REPEATED.map(({ every_ms: everyMs, name }) =>
    setInterval(() => {
      enqueue(name).catch((error) => log.warn({ ...sayError(error), job: name }, "a repeated job was not asked for"));
    }, everyMs),
  );
  return {
    [Symbol.dispose]: () => {
      for (const timer of timers) clearInterval(timer);
    },
  };
}
