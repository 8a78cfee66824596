import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "@appdb/engine/ports";
import type pg from "pg";

/** Until the first look: whoever was told looks meanwhile. */
const FIRST_MS = 2;
/** Between two looks while all workers are busy. */
const LAST_MS = 200;

export interface WaitingJobsDeps {
  readonly pool: Pick<pg.Pool, "query">;
  readonly log: Logger;
  /** What these workers do. */
  readonly tasks: readonly string[];
  /** Has so many workers look for a job. */
  nudge(count: number): void;
}

/**
 * Sees to it that no job waits that could run. A worker looks for one by locking every queue that is free, and passes over those that
 * are locked: of workers that look at the same moment, for other tasks too, one finds its job; the others find nothing, are told no
 * more, and look again after two seconds. Nor is anybody told when a queue becomes free.
 */
export class WaitingJobs implements Disposable {
  readonly #deps: WaitingJobsDeps;
  readonly #ending = new Set<string>();
  readonly #stopping = new AbortController();
  #isLooking = false;
  #isTold = false;

  constructor(deps: WaitingJobsDeps) {
    this.#deps = deps;
  }

  /** A job was added, perhaps for these workers. */
  told(): void {
    this.#isTold = true;
    if (this.#isLooking || this.#stopping.signal.aborted) return;
    this.#isLooking = true;
    this.#look()
      .catch((error) => {
        // the workers' own looks find it, later
        if (!this.#stopping.signal.aborted) this.#deps.log.debug({ err: error }, "jobs that wait were not looked for");
      })
      .finally(() => {
        this.#isLooking = false;
      });
  }

  /** A job has ended. PostgreSQL hears of it by and by; from then on its queue is free. */
  ended(id: string): void {
    this.#ending.add(id);
    this.told();
  }

  [Symbol.dispose](): void {
    this.#stopping.abort();
  }

  /** Until none waits, and PostgreSQL has heard of all that have ended. */
  async #look(): Promise<void> {
    const { nudge } = this.#deps;
    let waiting = 0;
    let pauseMs = FIRST_MS;
    do {
      if (this.#isTold) pauseMs = FIRST_MS;
      this.#isTold = false;
      // others that look for theirs are not to be met again at the same moment
      await sleep(pauseMs * (0.5 + Math.random()), undefined, { signal: this.#stopping.signal });
      pauseMs = Math.min(2 * pauseMs, LAST_MS);
      waiting = await this.#countWaiting();
      if (waiting > 0) nudge(waiting);
    } while (waiting > 0 || this.#isTold || this.#ending.size > 0);
  }

  async #countWaiting(): Promise<number> {
    const { pool, tasks } = this.#deps;
    const ending = [...this.#ending];
    const { rows } = await pool.query<{ waiting: number; unheard: string[] }>(
      `select (select count(*)::int from graphile_worker._private_jobs j
           join graphile_worker._private_tasks t on t.id = j.task_id
           left join graphile_worker._private_job_queues q on q.id = j.job_queue_id
           where j.is_available and j.run_at <= now() and t.identifier = any($1) and coalesce(q.is_available, true)) as waiting,
         array(select id::text from graphile_worker._private_jobs where id = any($2::bigint[]) and locked_by is not null) as unheard`,
      [tasks, ending],
    );
    const unheard = new Set(rows[0]?.unheard);
    for (const id of ending) if (!unheard.has(id)) this.#ending.delete(id);
    return rows[0]?.waiting ?? 0;
  }
}
