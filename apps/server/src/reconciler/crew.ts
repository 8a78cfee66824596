import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "@appdb/engine/ports";
import { run, type TaskList, type WorkerEvents } from "graphile-worker";
import type pg from "pg";
import { graphileLogger } from "./jobs.ts";
import type { LivingWorkers } from "./living-workers.ts";

const RESTART_MS = 500;
/** After the end of a job: PostgreSQL has heard of it by then, or on a busy machine by the second time. */
const FREED_MS = [20, 200];
/** Of one after the other, by all workers together, which try every two seconds: each of them twice. */
const MOST_FAILURES_EACH = 2;

/** Workers of the same jobs. */
export interface Crew {
  readonly tasks: TaskList;
  readonly at_once: number;
}

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
  let pool_id: string | undefined;
  const nudges = new Set<NodeJS.Timeout>();
  events.on("pool:create", ({ workerPool }) => {
    pool_id = workerPool.id;
    // Nobody is told that a queue is free again: a job that was added while the one before it ended would wait for the next look.
    events.on("job:complete", () => {
      for (const ms of FREED_MS) {
        const nudge = setTimeout(() => {
          nudges.delete(nudge);
          try {
            workerPool.nudge(1);
          } catch (error) {
            // it throws for workers that have ended with their connection; others are started
            log.debug({ err: error }, "a worker that has ended was not told of a job");
          }
        }, ms);
        nudges.add(nudge);
      }
    });
    living.claim(workerPool.id).catch((error) => log.warn({ err: error }, "a worker could not say that it lives"));
  });
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
    taskList: crew.tasks,
    concurrency: crew.at_once,
    noHandleSignals: true,
    // With a delay an end of a job that PostgreSQL did not hear of ends these workers; without one nobody waits for it, and its
    // rejection ends the process.
    preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
    logger: graphileLogger(log),
    events,
  });
  const ended = runner.promise.then(() => undefined);
  try {
    if (!signal.aborted) await Promise.race([over, ended]);
  } finally {
    // it throws when it has ended by itself
    for (const nudge of nudges) clearTimeout(nudge);
    events.removeAllListeners("job:complete");
    await runner.stop().catch(() => undefined);
    await ended.catch(() => undefined);
    if (pool_id !== undefined) {
      await living.release(pool_id).catch((error) => log.warn({ err: error }, "workers that ended could not say so"));
    }
  }
}
