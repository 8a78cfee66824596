import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "@appdb/engine/ports";
import { run, type Task, type TaskList, type WorkerEvents } from "graphile-worker";
import type pg from "pg";
import { graphileLogger } from "./graphile.ts";
import { stepBehind } from "./jobs.ts";
import type { LivingWorkers } from "./living-workers.ts";
import { WaitingJobs } from "./waiting-jobs.ts";

const RESTART_MS = 500;
/** Of one after the other, by all workers together, which try every two seconds: each of them twice. */
const MOST_FAILURES_EACH = 2;

/** Workers of the same jobs. Jobs of one queue run one after the other, and queues take turns. */
export interface Crew {
  readonly tasks: TaskList;
  readonly at_once: number;
  /** How often workers look for jobs that no notification told them of; 2 s by default. */
  readonly poll_ms?: number;
}

const POLL_MS = 2_000;

export interface CrewDeps {
  readonly pool: pg.Pool;
  readonly living: LivingWorkers;
  readonly log: Logger;
}

/** Runs workers until the signal, and others when those got no job for long: after a lost connection some of graphile-worker's keep
 *  the error of their first statement for good. */
export async function keepWorking(deps: CrewDeps, crew: Crew, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await work(deps, crew, signal);
    } catch (error) {
      deps.log.warn({ err: error }, "the reconciler's workers ended; others are started");
    }
    await sleep(RESTART_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function work({ living, log, pool }: CrewDeps, crew: Crew, signal: AbortSignal): Promise<void> {
  const events: WorkerEvents = new EventEmitter();
  let poolId: string | undefined;
  let waiting: WaitingJobs | undefined;
  events.on("pool:create", ({ workerPool }) => {
    poolId = workerPool.id;
    waiting = new WaitingJobs({ pool, log, tasks: Object.keys(crew.tasks), nudge: (count) => workerPool.nudge(count) });
    living.claim(workerPool.id).catch((error) => log.warn({ err: error }, "a worker could not say that it lives"));
  });
  events.on("pool:listen:notification", () => waiting?.told());
  events.on("job:complete", ({ job }) => waiting?.ended(job.id));
  const over = new Promise<void>((resolve, reject) => {
    let failures = 0;
    const well = () => {
      failures = 0;
    };
    events.on("worker:getJob:empty", well);
    events.on("job:start", well);
    events.on("worker:getJob:error", ({ error }) => {
      failures += 1;
      if (failures === MOST_FAILURES_EACH * crew.at_once) reject(error);
    });
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  // it is looked at once the workers run
  over.catch(() => undefined);
  const runner = await run({
    pgPool: pool,
    taskList: takingTurns({ pool, log }, crew.tasks),
    concurrency: crew.at_once,
    noHandleSignals: true,
    // With a delay an end of a job that PostgreSQL did not hear of ends these workers; without one nobody waits for it, and its
    // rejection ends the process.
    preset: { worker: { pollInterval: crew.poll_ms ?? POLL_MS, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
    logger: graphileLogger(log),
    events,
  });
  const ended = runner.promise.then(() => undefined);
  try {
    if (!signal.aborted) await Promise.race([over, ended]);
  } finally {
    waiting?.[Symbol.dispose]();
    // it throws when it has ended by itself
    await runner.stop().catch(() => undefined);
    await ended.catch(() => undefined);
    if (poolId !== undefined) {
      await living.release(poolId).catch((error) => log.warn({ err: error }, "workers that ended could not say so"));
    }
  }
}

/** Has each job that ends leave the next turn to others. It holds its queue until then: none of its own can begin before. */
function takingTurns({ log, pool }: Pick<CrewDeps, "log" | "pool">, tasks: TaskList): TaskList {
  const taking = (work: Task): Task => {
    return async (payload, helpers) => {
      try {
        await work(payload, helpers);
      } finally {
        const queue = helpers.job.job_queue_id;
        if (queue !== null) {
          // what follows keeps its former time, and is sooner than others for one turn
          await stepBehind(pool, queue).catch((error) =>
            log.warn({ err: error }, "a queue did not step behind others"),
          );
        }
      }
    };
  };
  return Object.fromEntries(Object.entries(tasks).map(([name, work]) => [name, taking(work as Task)]));
}
