import { AppError } from "@appdb/contract/errors";
import { explainFullDisk } from "../answers/answers.ts";
import { JOBS_CHANNEL, loadDefinitions } from "../catalog/load-catalog.ts";
import { logOutages } from "../outages.ts";
import { SqlError } from "../ports.ts";
import { quoteTable } from "../sql/quote.ts";
import { createAsyncSignal } from "./async-signal.ts";
import { buildIndex } from "./build-index.ts";
import { collectJobs } from "./collect-jobs.ts";
import { failFill, finishFill } from "./end-fill.ts";
import { explainCancel, explainInterruptions, explainRowFailure, outOfSpace } from "./explain-end.ts";
import { fillColumns, firstRowLeft } from "./fills/fill-columns.ts";
import { JobLost, RowFailed } from "./fills/fill-context.ts";
import type { JobDeps } from "./job-deps.ts";
import { endJob, type Job, type JobError, leaseJob, releaseJob, renewLease, restartJob } from "./job-store.ts";
import { openShadows } from "./previous-values/open-shadows.ts";
import { ValueRefused } from "./previous-values/place-shadows.ts";

/**
 * Updates PostgreSQL's planner statistics of a table, which autovacuum would do only after a minute or so. Until then
 * it has no statistics of a new column or of a new index's columns, and scans whole tables.
 */
async function analyzeTable(deps: Pick<JobDeps, "sql" | "log">, tableId: number): Promise<void> {
  const table = (await loadDefinitions(deps.sql)).tables.find((candidate) => candidate.id === tableId);
  if (table === undefined) return;
  try {
    await deps.sql.query({ text: `analyze ${quoteTable(table)}` });
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    // The table was dropped meanwhile, or is locked: autovacuum analyses it later.
    deps.log.debug({ table: table.name, sqlstate: error.sqlstate }, "a table was not analysed");
  }
}

/** Maximum delay until a job without a notification is found, such as that of a dead runner. */
const POLL_MS = 1_000;
const RETRY_DELAY_MS = 500;
/** Interval of lease renewals, and so the delay of a cancellation. */
const RENEW_MS = 1_000;
/** Interval of the search for old ended jobs. */
const COLLECT_MS = 3_600_000;
/** A job is given up after this many attempts without a finished batch. An attempt that ends because PostgreSQL was
 *  stopped or restarted does not count; one that ends with the process or with a crash of PostgreSQL does. */
const MAX_ATTEMPTS = 4;

/**
 * Runs the jobs of one database until the signal aborts: fills and recomputes columns, fills pending cells, builds
 * indexes. One job at a time; any number of processes may run this on one database. After a kill, the job continues
 * after its cursor when its lease has expired.
 */
export async function runJobs(deps: JobDeps, signal: AbortSignal): Promise<void> {
  const bell = createAsyncSignal();
  signal.addEventListener("abort", bell.ring, { once: true });
  let isListening = false;
  let collectAt = deps.clock.now();
  let leased: Job | undefined;
  let stopped: Job | undefined;
  const outages = logOutages(deps.log);
  while (!signal.aborted) {
    try {
      if (!isListening) await deps.sql.listen(JOBS_CHANNEL, bell.ring, signal);
      isListening = true;
      if (deps.clock.now() >= collectAt) {
        collectAt = deps.clock.now() + COLLECT_MS;
        await collectJobs(deps.sql, deps.clock);
      }
      if (stopped !== undefined) await releaseJob(deps.sql, stopped, deps.owner);
      stopped = undefined;
      leased = await leaseJob(deps.sql, deps);
      outages.worked();
      if (leased === undefined) await bell.wait(POLL_MS);
      else await workOn(deps, leased, signal);
      leased = undefined;
    } catch (error) {
      if (signal.aborted) break;
      const isOutage = isDatabaseStopped(error);
      if (isOutage) stopped = leased ?? stopped;
      const what = leased === undefined ? "jobs wait for PostgreSQL" : "a job was interrupted and will be retried";
      leased = undefined;
      outages.failed(isOutage ? String(error) : undefined, { error: String(error), code: codeOf(error) }, what);
      await bell.wait(RETRY_DELAY_MS);
    }
  }
  signal.removeEventListener("abort", bell.ring);
}

/** Runs one job to its end, or releases it. */
async function workOn(deps: JobDeps, leased: Job, signal: AbortSignal): Promise<void> {
  await using lease = renewJobLease(deps, leased, signal);
  let job = leased;
  try {
    if (job.attempts > MAX_ATTEMPTS && job.undoing === null && !job.is_cancelled) {
      await giveUp(deps, job, lease.signal);
      return;
    }
    if (isToFill(job)) job = await openShadows(deps, job, lease.signal);
    await doJob(deps, job, lease.signal);
  } catch (thrown) {
    const error = explainFullDisk(thrown);
    if (!signal.aborted && (lease.is_cancelled || (await wasCancelled(deps, job, error)))) {
      await failFill(deps, job, await explainCancel(deps.sql, job), signal);
      return;
    }
    if (error instanceof JobLost || lease.signal.aborted) {
      await releaseJob(deps.sql, job, deps.owner);
      return;
    }
    if (error instanceof RowFailed) {
      await failFill(deps, job, await explainRowFailure(deps.sql, job, error), lease.signal);
      return;
    }
    if (error instanceof AppError && error.code === "disk_full" && (job.kind === "fill" || job.kind === "recompute")) {
      deps.log.info({ job: job.id, table: job.table_name }, "a job ends because the disk is full");
      await failFill(deps, job, await outOfSpace(deps.sql, job, error), lease.signal);
      return;
    }
    if (isDatabaseUnreachable(error) || job.attempts < MAX_ATTEMPTS) throw error;
    deps.log.error({ job: job.id, table: job.table_name, error: String(error) }, "a job was given up");
    await abandonJob(deps, job, error, lease.signal);
  }
}

/** The write of a batch is the first to notice a cancellation. */
async function wasCancelled(deps: JobDeps, job: Job, error: unknown): Promise<boolean> {
  return error instanceof JobLost && (await renewLease(deps.sql, job, deps)) === "cancelled";
}

function isToFill({ kind, undoing, is_cancelled: isCancelled }: Job): boolean {
  return kind !== "build_index" && undoing === null && !isCancelled;
}

async function doJob(deps: JobDeps, job: Job, signal: AbortSignal): Promise<void> {
  if (job.undoing !== null) return failFill(deps, job, job.undoing, signal);
  if (job.is_cancelled) return failFill(deps, job, await explainCancel(deps.sql, job), signal);
  if (job.kind === "build_index") await buildIndex(deps, job, signal);
  else await computeColumns(deps, job, signal);
  // No one waits for this: the job has ended.
  if (job.kind !== "close_pending" && !job.errors_only) await analyzeTable(deps, job.table_id);
}

/** Ends a job whose last attempts ended with their connection or process, so that none of them could end it. */
async function giveUp(deps: JobDeps, job: Job, signal: AbortSignal): Promise<void> {
  deps.log.error({ job: job.id, table: job.table_name, attempts: MAX_ATTEMPTS }, "an interrupted job was given up");
  if (job.kind === "fill" || job.kind === "recompute") {
    const row = await firstRowLeft(deps, job);
    await failFill(deps, job, await explainInterruptions(deps.sql, job, { row, attempts: MAX_ATTEMPTS }), signal);
    return;
  }
  await endJob(deps.sql, job, deps.owner, {
    code: job.kind === "build_index" ? "schema_unsupported" : "fill_failed",
    detail: `The work on table ${job.table_name} was given up after ${MAX_ATTEMPTS} attempts: PostgreSQL or the job's process ended each time, perhaps without memory.`,
    hint: "Give the database more memory (memory_mb), then run the update again.",
    meta: { table: job.table_name, job: job.id },
  });
}

async function computeColumns(deps: JobDeps, job: Job, signal: AbortSignal): Promise<void> {
  try {
    await fillColumns(deps, job, signal);
    await finishFill(deps, job, signal);
  } catch (error) {
    if (!(error instanceof ValueRefused)) throw error;
    deps.log.debug({ job: job.id, table: job.table_name, error: error.message }, "a job computes its rows in batches");
    const again = await restartJob(deps.sql, job, deps.owner);
    if (again === undefined) throw new JobLost("the job has another owner or state");
    await fillColumns(deps, again, signal, { in_batches: true });
    await finishFill(deps, again, signal, { in_batches: true });
  }
}

async function abandonJob(deps: JobDeps, job: Job, error: unknown, signal: AbortSignal): Promise<void> {
  const reason: JobError = {
    code: job.kind === "build_index" ? "schema_unsupported" : "fill_failed",
    detail: `The work on table ${job.table_name} was given up after ${job.attempts} attempts: ${publicMessage(error)}`,
    hint: (error instanceof AppError ? error.hint : undefined) ?? "Run the update again. For details, see the log.",
    meta: { table: job.table_name, code: codeOf(error) },
  };
  if (job.kind === "fill" || job.kind === "recompute") await failFill(deps, job, reason, signal);
  else await endJob(deps.sql, job, deps.owner, reason);
}

/** Only an AppError has a text for people. */
function publicMessage(error: unknown): string {
  return error instanceof AppError ? error.message : "an unexpected error; see the log.";
}

function codeOf(error: unknown): string | undefined {
  return error instanceof AppError ? error.code : undefined;
}

function isDatabaseUnreachable(error: unknown): boolean {
  return error instanceof AppError && (error.code === "database_unavailable" || error.code === "commit_unknown");
}

/** Whether PostgreSQL was stopped, is down, or refuses connections; false when it broke under a statement of the job. */
function isDatabaseStopped(error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  return error.code === "database_unavailable" || (error.code === "commit_unknown" && error.meta.sqlstate === "57P01");
}

interface Lease extends AsyncDisposable {
  /** Aborts with the caller's signal, when the lease is lost to another runner, or when the job is cancelled. */
  readonly signal: AbortSignal;
  readonly is_cancelled: boolean;
}

/** Renews a lease while a job runs, so that one slow batch does not lose it. */
function renewJobLease(deps: JobDeps, job: Job, signal: AbortSignal): Lease {
  const lost = new AbortController();
  let isCancelled = false;
  let renewing: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    renewing = renewLease(deps.sql, job, deps).then(
      (state) => {
        if (state === "kept") return;
        isCancelled = state === "cancelled";
        lost.abort(new JobLost(isCancelled ? "the job was cancelled" : "the lease was lost"));
      },
      // The database is unavailable. The job's own statements meet the same error and report it.
      (error: unknown) => deps.log.debug({ job: job.id, error: String(error) }, "a lease could not be renewed"),
    );
  }, RENEW_MS);
  return {
    signal: AbortSignal.any([signal, lost.signal]),
    get is_cancelled() {
      return isCancelled;
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await renewing;
    },
  };
}
