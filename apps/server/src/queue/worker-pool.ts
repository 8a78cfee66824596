import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "@appdb/engine/ports";
import { sql } from "kysely";
import type * as z from "zod";
import type { Notifications } from "../database/notifications.ts";
import { type ControlDatabase, isDatabaseLost, type Tx } from "../database/pool.ts";
import { JOBS, type JobName } from "./jobs.ts";
import type { Lease } from "./lease.ts";

const RETRY_MS = 500;
/** Poll interval for jobs that become due. Workers are notified of a job that is due when added. */
const POLL_MS = 2_000;
/** `pg_advisory_xact_lock` for claims: two concurrent claims could take jobs of one lane. */
const CLAIMS = 734_191;
/** Maximum pause of a failed job, e^attempts seconds. `rescheduleFutureJobs` would cut longer pauses. */
export const MAX_BACKOFF_S = 150;

export interface JobRun {
  /** From 1. */
  readonly attempt: number;
  /** Aborts when the workers stop. */
  readonly signal: AbortSignal;
}

export type Tasks = {
  [Name in JobName]?: (payload: z.output<(typeof JOBS)[Name]>, run: JobRun) => Promise<void>;
};

/** Workers of the same tasks. Jobs of one lane run one after the other, and lanes take turns. */
export interface WorkerPool {
  readonly tasks: Readonly<Tasks>;
  readonly at_once: number;
  readonly poll_ms?: number;
}

export interface WorkerDeps {
  readonly db: ControlDatabase;
  readonly lease: Lease;
  readonly notifications: Notifications;
  readonly log: Logger;
}

interface ClaimedJob {
  readonly key: string;
  readonly name: JobName;
  readonly payload: unknown;
  readonly lane: string;
  readonly attempts: number;
}

/** Runs jobs until the signal aborts. Resolves when all running jobs have ended. */
export async function runWorkers(deps: WorkerDeps, pool: WorkerPool, signal: AbortSignal): Promise<void> {
  const names = Object.keys(pool.tasks) as JobName[];
  const running = new Set<Promise<void>>();
  let wake = () => {};
  let isWoken = false;
  const look = () => {
    isWoken = true;
    wake();
  };
  let stopListening: (() => void) | undefined;
  const onMessage = (name: string | undefined) => {
    if (name === undefined || names.some((one) => one === name)) look();
  };
  signal.addEventListener("abort", look, { once: true });
  while (!signal.aborted) {
    isWoken = false;
    const pauseMs = await listenAndStart().catch((error) => {
      logFailure(deps.log, error, "could not claim jobs");
      return RETRY_MS;
    });
    if (isWoken) continue;
    const timer = setTimeout(look, pauseMs);
    await new Promise<void>((resolve) => (wake = resolve));
    clearTimeout(timer);
  }
  stopListening?.();
  await Promise.all(running);

  async function listenAndStart(): Promise<number> {
    stopListening ??= await deps.notifications.listen("control_jobs", onMessage);
    return await startJobs();
  }

  /** Starts due jobs. Returns the milliseconds until the next poll. */
  async function startJobs(): Promise<number> {
    const pollMs = pool.poll_ms ?? POLL_MS;
    const free = pool.at_once - running.size;
    if (free === 0) return pollMs;
    const { jobs, next_ms: nextMs } = await claimJobs(deps, names, free);
    for (const job of jobs) {
      const run = runJob(deps, pool.tasks, job, signal).finally(() => {
        running.delete(run);
        look();
      });
      running.add(run);
    }
    return Math.min(nextMs ?? pollMs, pollMs);
  }
}

/** Marks jobs as running by this process: the first due job of each free lane. */
async function claimJobs({ db, lease }: WorkerDeps, names: readonly JobName[], max: number) {
  return await db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${CLAIMS})`.execute(tx);
    const { rows: jobs } = await sql<ClaimedJob>`
      with due as (
        select distinct on (j.lane) j.key, j.run_at, j.id from control.jobs j
          where j.name = any(${names}) and j.lease is null and j.run_at <= now()
            and not exists (select from control.jobs r where r.lane = j.lane and r.lease is not null)
          order by j.lane, j.run_at, j.id),
      chosen as (
        select key from control.jobs where key in (select key from due order by run_at, id limit ${max}) and lease is null
          for update skip locked)
      update control.jobs j set lease = ${lease.id}, attempts = j.attempts + 1 from chosen where j.key = chosen.key
        returning j.key, j.name, j.payload, j.lane, j.attempts`.execute(tx);
    const { rows } = await sql<{ next_ms: number | null }>`
      select ceil(extract(epoch from min(run_at) - clock_timestamp()) * 1000)::float8 as next_ms from control.jobs
        where name = any(${names}) and lease is null and run_at > now()`.execute(tx);
    return { jobs, next_ms: rows[0]?.next_ms ?? undefined };
  });
}

async function runJob(deps: WorkerDeps, tasks: Readonly<Tasks>, job: ClaimedJob, signal: AbortSignal): Promise<void> {
  let hasFailed = false;
  try {
    const work = tasks[job.name] as ((payload: unknown, run: JobRun) => Promise<void>) | undefined;
    await work?.(JOBS[job.name].parse(job.payload), { attempt: job.attempts, signal });
  } catch (error) {
    hasFailed = true;
    if (!signal.aborted) logFailure(deps.log, error, "a job failed; it will be retried", { job: job.key });
  }
  // a job without a recorded end would block its lane for the life of this process
  for (;;) {
    try {
      return await deps.db.transaction().execute((tx) => endJob(tx, deps.lease, job, hasFailed, signal.aborted));
    } catch (error) {
      logFailure(deps.log, error, "could not record the end of a job yet", { job: job.key });
      if (signal.aborted) return;
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Removes a job, or lets it wait again if it failed, was interrupted, or was requested while it ran. */
async function endJob(
  tx: Tx,
  lease: Lease,
  { attempts, key, lane }: ClaimedJob,
  hasFailed: boolean,
  isInterrupted: boolean,
): Promise<void> {
  const { rows } = await sql<{ is_again: boolean }>`select again_at is not null as is_again from control.jobs
    where key = ${key} and lease = ${lease.id} and attempts = ${attempts} for update`.execute(tx);
  const [found] = rows;
  // another process freed it meanwhile
  if (found === undefined) return;
  if (!hasFailed && !found.is_again) await sql`delete from control.jobs where key = ${key}`.execute(tx);
  else {
    const backoffS = isInterrupted ? 0 : Math.min(Math.exp(attempts), MAX_BACKOFF_S);
    await sql`update control.jobs set lease = null, again_at = null,
        run_at = coalesce(again_at, now() + make_interval(secs => ${backoffS}::float8)),
        attempts = case when again_at is null then attempts else 0 end where key = ${key}`.execute(tx);
  }
  await stepBehind(tx, lane);
}

/**
 * Ends an organization's turn: moves its other due jobs of the lane behind the jobs of all others, keeping their order.
 * Organizations take turns this way, however many jobs each has.
 */
async function stepBehind(tx: Tx, lane: string): Promise<void> {
  await sql`with waiting as materialized (
      select key, run_at, id from control.jobs where lane = ${lane} and lease is null and run_at <= now() for update skip locked),
    ordered as (select key, row_number() over (order by run_at, id) as at from waiting)
    update control.jobs j set run_at = clock_timestamp() + o.at * interval '1 microsecond' from ordered o where j.key = o.key`.execute(
    tx,
  );
}

/** The pool and /health already report a lost PostgreSQL, so retries do not. */
function logFailure(log: Logger, error: unknown, message: string, fields: Readonly<Record<string, string>> = {}): void {
  if (isDatabaseLost(error)) log.debug({ ...fields, err: error }, "the workers wait for PostgreSQL");
  else log.error({ ...fields, err: error }, message);
}
