import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import type { Progress } from "@appdb/contract/routes/local";
import { shownNames } from "../catalog/sql-names.ts";
import type { SqlConnection } from "../ports.ts";
import type { JobDeps } from "./job-deps.ts";
import type { JobError } from "./job-store.ts";

const PROGRESS_MS = 1_000;
const FIRST_LOOK_MS = 10;
const LONGEST_WAIT_MS = 100;

interface WatchedJob {
  readonly id: string;
  readonly kind: string;
  readonly state: "queued" | "running" | "done" | "failed" | "cancelled";
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows_done: number;
  readonly rows_total: number | null;
  readonly errors: number;
  readonly error: JobError | null;
}

export interface WatchJobsDeps extends Pick<JobDeps, "sql" | "clock"> {
  /** Called when the jobs have ended, before the rows are complete that others inserted meanwhile. */
  readonly onFilled?: () => void;
}

/**
 * Waits until jobs have ended, and until the rows are complete that others inserted meanwhile. Reports finished and total rows of each column once a second, and at the end. Aborting
 * ends the wait, not the jobs. After a failure, `undo` undoes more than the job has, and returns a sentence that says so.
 * @throws fill_failed, recompute_failed with function, type, message and row count in `meta`; schema_unsupported for an
 * index; job_cancelled; disk_full; the abort's reason
 */
export async function watchJobs(
  deps: WatchJobsDeps,
  ids: readonly string[],
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
  undo?: () => Promise<string | undefined>,
): Promise<void> {
  let wait = FIRST_LOOK_MS;
  let toldAt = deps.clock.now();
  let closing: readonly string[] | undefined;
  for (;;) {
    signal.throwIfAborted();
    const jobs = await readJobs(deps.sql, ids);
    const hasEnded = jobs.every((job) => job.state !== "queued" && job.state !== "running");
    if (hasEnded || deps.clock.now() - toldAt >= PROGRESS_MS) {
      toldAt = deps.clock.now();
      for (const job of jobs) reportProgress(job, onProgress);
    }
    if (hasEnded) {
      const error = jobs.find((job) => job.error !== null)?.error;
      if (error != null) {
        const detail = withOutcome(error, await undo?.());
        throw appError(error.code, { detail, hint: error.hint, meta: error.meta });
      }
      // Rows that others insert meanwhile would let a search after each job never end.
      if (closing === undefined) deps.onFilled?.();
      closing ??= await pendingJobs(deps.sql, ids);
      if (!(await areOpen(deps.sql, closing))) return;
    }
    await sleep(wait, undefined, { signal });
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

/** The jobs that complete rows which were inserted while these jobs filled their columns. */
async function pendingJobs(sql: SqlConnection, ids: readonly string[]): Promise<readonly string[]> {
  const { rows } = await sql.query({
    text: `select distinct p.id from appdb.jobs j
      join appdb.jobs p on p.table_id = j.table_id and p.kind = 'close_pending' and p.state in ('queued', 'running')
      join appdb.columns c on c.table_id = j.table_id and c.id = any(p.column_ids) and c.name = any(j.column_names)
      where j.id = any($1::uuid[])`,
    values: [[...ids]],
  });
  return rows.map(([id]) => id ?? "");
}

async function areOpen(sql: SqlConnection, ids: readonly string[]): Promise<boolean> {
  if (ids.length === 0) return false;
  const { rows } = await sql.query({
    text: "select exists (select from appdb.jobs where id = any($1::uuid[]) and state in ('queued', 'running'))",
    values: [[...ids]],
  });
  return rows[0]?.[0] === "t";
}

function withOutcome({ detail, outcome = "" }: JobError, said: string | undefined): string {
  if (said === undefined) return detail;
  const cause = detail.endsWith(outcome) ? detail.slice(0, detail.length - outcome.length) : detail;
  return `${cause}${cause.endsWith(".") ? "" : "."} ${said}`;
}

async function readJobs(sql: SqlConnection, ids: readonly string[]): Promise<readonly WatchedJob[]> {
  const { rows } = await sql.query({
    text: `select json_build_object('id', id, 'kind', kind, 'state', state, 'table', table_name, 'columns', to_json(column_names),
        'rows_done', rows_done, 'rows_total', rows_total, 'errors', errors, 'error', error)
      from appdb.jobs where id = any($1::uuid[]) order by seq`,
    values: [[...ids]],
  });
  return rows.map(([text]) => JSON.parse(text ?? "") as WatchedJob);
}

/** Most index builds are quick and have no rows to report. */
function reportProgress(job: WatchedJob, onProgress: (progress: Progress) => void): void {
  if (job.rows_total === null) return;
  const { id, table, rows_done: rowsDone, rows_total: rowsTotal, errors } = job;
  for (const column of shownNames(job.columns))
    onProgress({ event: "progress", job: id, table, column, rows_done: rowsDone, rows_total: rowsTotal, errors });
}
