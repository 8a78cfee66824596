import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "@appdb/engine/ports";
import { run, type TaskList, type WorkerEvents } from "graphile-worker";
import pg from "pg";
import type * as z from "zod";
import type { RecordEvent } from "../control-plane/events/event.ts";
import type { Envelope } from "../control-plane/secrets/envelope.ts";
import { deliverWebhook } from "../control-plane/webhooks/deliver.ts";
import { type Database, hearLosses } from "../database/pool.ts";
import { cleanIdempotency } from "../http/idempotency.ts";
import { enqueueJob, graphileLogger, JOBS, type JobName } from "./jobs.ts";
import { type LivingWorkers, openLivingWorkers, unlockDeadWorkers } from "./living-workers.ts";
import { findMissingMains, type ProvisionMainDeps, provisionMain } from "./provision-main.ts";

const CONCURRENCY = 4;
/** The workers' and one that listens. */
const CONNECTIONS = CONCURRENCY + 2;
const LOOK_FOR_DEAD_MS = 2_000;
const RESTART_MS = 500;
/** Of one after the other, by all workers together, which try every two seconds. */
const MOST_FAILURES = 2 * CONCURRENCY;
const EVERY_MINUTE = "* * * * * sweep ?jobKey=sweep";

export interface ReconcilerDeps {
  readonly db: Database;
  /** Of the server's pool: the reconciler has one of its own. */
  readonly pool_options: pg.PoolConfig;
  readonly log: Logger;
  readonly recordEvent: RecordEvent;
  readonly envelope: Envelope;
  /** Whether webhooks may be of this machine or a private network. */
  readonly allow_private: boolean;
  readonly stepDone?: ProvisionMainDeps["stepDone"] | undefined;
}

/** Works at what the control plane was told to do, until it is disposed of: it then ends the jobs that are under way. */
export async function startReconciler(deps: ReconcilerDeps): Promise<AsyncDisposable> {
  const { db, log } = deps;
  const pool = new pg.Pool({ ...deps.pool_options, max: CONNECTIONS, application_name: "appdb reconciler" });
  hearLosses(pool, log);
  const living = await openLivingWorkers(deps.pool_options, log);
  const look = async () => {
    const dead = await unlockDeadWorkers(db);
    if (dead > 0) log.warn({ workers: dead }, "jobs of workers that died were freed");
  };
  await look();
  await enqueueJob(db, "sweep", {}, { job_key: "sweep" });
  const timer = setInterval(() => {
    look().catch((error) => log.warn({ err: error }, "jobs of workers that died were not looked for"));
  }, LOOK_FOR_DEAD_MS);
  const stopping = new AbortController();
  const working = keepWorking(deps, pool, living, stopping.signal);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      stopping.abort();
      await working;
      await living[Symbol.asyncDispose]();
      await pool.end();
    },
  };
}

/** Runs workers, and others when those got no job for long: after a lost connection some of graphile-worker's keep the error
 *  of their first statement for good. */
async function keepWorking(
  deps: ReconcilerDeps,
  pool: pg.Pool,
  living: LivingWorkers,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await work(deps, pool, living, signal);
    } catch (error) {
      deps.log.warn({ err: error }, "the reconciler's workers ended; others are started");
    }
    await sleep(RESTART_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function work(deps: ReconcilerDeps, pool: pg.Pool, living: LivingWorkers, signal: AbortSignal): Promise<void> {
  const events: WorkerEvents = new EventEmitter();
  events.on("pool:create", ({ workerPool }) => {
    living.claim(workerPool.id).catch((error) => deps.log.warn({ err: error }, "a worker could not say that it lives"));
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
      if (failures === MOST_FAILURES) reject(error);
    });
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  // it is looked at once the workers run
  over.catch(() => undefined);
  const runner = await run({
    pgPool: pool,
    taskList: toTasks(deps),
    crontab: EVERY_MINUTE,
    concurrency: CONCURRENCY,
    noHandleSignals: true,
    logger: graphileLogger(deps.log),
    events,
  });
  const ended = runner.promise.then(() => undefined);
  try {
    if (!signal.aborted) await Promise.race([over, ended]);
  } finally {
    // it throws when it has ended by itself
    await runner.stop().catch(() => undefined);
    await ended.catch(() => undefined);
  }
}

function toTasks(deps: ReconcilerDeps): TaskList {
  const task =
    <Name extends JobName>(
      name: Name,
      work: (payload: z.output<(typeof JOBS)[Name]>, signal: AbortSignal | undefined) => Promise<void>,
    ) =>
    (payload: unknown, helpers: { readonly abortSignal?: AbortSignal | undefined }) =>
      work(JOBS[name].parse(payload) as z.output<(typeof JOBS)[Name]>, helpers.abortSignal);
  return {
    "provision-main": task("provision-main", ({ org_id }) => provisionMain(deps, org_id)),
    "deliver-webhook": task("deliver-webhook", ({ delivery_id }) => deliverWebhook(deps, delivery_id)),
    sweep: task("sweep", async () => {
      await findMissingMains(deps.db);
      await cleanIdempotency(deps.db);
    }),
  };
}
