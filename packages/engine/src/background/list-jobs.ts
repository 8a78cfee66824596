import { appError } from "@appdb/contract/errors";
import type { JobRecord } from "@appdb/contract/jobs";
import { JOBS_CHANNEL, loadDefinitions } from "../catalog/load-catalog.ts";
import { shownNames } from "../catalog/sql-names.ts";
import type { JobError } from "../jobs/job-store.ts";
import { findRelatedRebuilds } from "../jobs/related-rebuilds.ts";
import type { Clock, SqlConnection, SqlPool } from "../ports.ts";
import { cancelBackground } from "./background-store.ts";

/** Maximum length of a job list, latest first. */
export const MAX_LISTED_JOBS = 1_000;

/** A shorter start of an id would name a job by accident. */
const SHORTEST_PREFIX = 4;

interface ListInput {
  /** Name of the database, the first part of table paths. */
  readonly database: string;
  /** PostgreSQL schema of a folder; null for the whole database. */
  readonly folder: string | null;
  /** Id of a table, for its jobs alone. */
  readonly table_id?: number | undefined;
  /** Includes ended jobs. */
  readonly all: boolean;
}

/** Jobs of a database, latest first. */
export async function listJobs(
  sql: SqlConnection,
  { database, folder, table_id: tableId, all }: ListInput,
): Promise<readonly JobRecord[]> {
  const { rows } = await sql.query({
    text: `select job from (select j.created_at, json_build_object('id', j.id, 'kind', j.kind, 'state', j.state, 'folder', coalesce(t.folder, 'public'),
        'table', coalesce(t.name, j.table_name), 'columns', to_json(j.column_names), 'on_error', j.on_error,
        'rows_done', j.rows_done, 'rows_total', j.rows_total, 'errors', j.errors, 'is_cancelled', j.is_cancelled,
        'error', j.error, 'created_at', j.created_at, 'ended_at', j.ended_at) as job, j.seq
      from appdb.jobs j left join appdb.tables t on t.id = j.table_id
      where ($1::text is null or t.folder = $1) and ($3::bigint is null or j.table_id = $3) and ($2 or j.state in ('queued', 'running'))
      union all
      select b.created_at, json_build_object('id', b.id, 'kind', 'background', 'state', b.state, 'folder', b.folder,
        'table', b.service || ' ' || b.route, 'columns', '[]'::json, 'on_error', 'abort',
        'rows_done', (b.state = 'done')::int, 'rows_total', 1, 'errors', b.attempts, 'is_cancelled', b.is_cancelled,
        'error', b.error, 'created_at', b.created_at, 'ended_at', b.ended_at), b.seq
      from appdb.background b
      where ($1::text is null or b.folder = $1) and $3::bigint is null and ($2 or b.state in ('queued', 'running'))
      ) as all_jobs order by created_at desc, seq desc limit ${MAX_LISTED_JOBS}`,
    values: [folder, all, tableId ?? null],
  });
  return rows.map(([text]) => {
    type Raw = Omit<JobRecord, "error"> & { readonly folder: string; readonly error: JobError | null };
    const { folder: of, ...job } = JSON.parse(text ?? "") as Raw;
    const path = [database, ...(of === "public" ? [] : of.split("/")), job.table].join("/");
    return { ...job, table: path, columns: shownNames(job.columns), error: job.error?.detail ?? null };
  });
}

/**
 * Cancels a job: new columns are dropped, recomputed ones get their previous values back; with `ignore` they keep the
 * new ones. The runner of the job does this within about a second. `id` can be a prefix that no other open job has.
 * @throws invalid_request for a prefix of fewer than 4 characters; job_not_found; job_not_cancellable for work that must not stop halfway, and for ended jobs
 */
export async function cancelJob(sql: SqlPool, clock: Clock, id: string): Promise<{ readonly id: string }> {
  if (id.length < SHORTEST_PREFIX) {
    throw appError("invalid_request", {
      detail: `'${id}' has ${id.length === 1 ? "one character" : `${id.length} characters`}. The start of a job's id has at least ${SHORTEST_PREFIX}.`,
      hint: "List the jobs: cli jobs list <target>",
      meta: { job: id },
    });
  }
  const { rows } = await sql.query({
    text: `select id, kind, state from (
        select id, kind, state, created_at from appdb.jobs
        union all select id, 'background', state, created_at from appdb.background) as j
      where starts_with(id::text, lower($1))
      order by state in ('queued', 'running') desc, created_at desc limit 2`,
    values: [id],
  });
  const [found, other] = rows;
  const [job, kind, state] = found ?? [];
  const isOpen = (of: readonly (string | null)[] | undefined) => of?.[2] === "queued" || of?.[2] === "running";
  if (job == null || (isOpen(found) && isOpen(other))) throw notFound(id, job != null);
  if (!isOpen(found)) throw notCancellable(job, `has already ended (${state})`);
  if (kind === "close_pending") throw notCancellable(job, "completes rows that are already stored");
  if (kind === "build_index" && state === "running")
    throw notCancellable(job, "builds an index, which cannot be interrupted");
  if (kind === "background") {
    if (!(await cancelBackground({ sql, clock }, job))) throw notCancellable(job, "has just ended");
    return { id: job };
  }
  if (!(await sql.transaction((connection) => cancelWithRelated(connection, job)))) {
    throw notCancellable(job, "has just ended");
  }
  await sql.query({ text: "select pg_notify($1, '')", values: [JOBS_CHANNEL] });
  return { id: job };
}

/** Cancels a job on a table, and those of the same update that compute related views. False when it has ended. */
async function cancelWithRelated(sql: SqlConnection, id: string): Promise<boolean> {
  const { rows } = await sql.query({
    text: `update appdb.jobs set is_cancelled = true where id = $1 and state in ('queued', 'running')
      returning table_id, to_json(column_ids)`,
    values: [id],
  });
  const [tableId, columnIds] = rows[0] ?? [];
  if (tableId == null || columnIds == null) return false;
  const job = { id, table_id: Number(tableId), column_ids: JSON.parse(columnIds) as number[] };
  const { open } = await findRelatedRebuilds(sql, (await loadDefinitions(sql)).tables, job);
  await sql.query({
    text: "update appdb.jobs set is_cancelled = true where id = any($1::uuid[]) and state in ('queued', 'running')",
    values: [open.map((one) => one.id)],
  });
  return true;
}

function notFound(id: string, isAmbiguous: boolean): Error {
  return appError("job_not_found", {
    detail: isAmbiguous ? `Several open jobs begin with '${id}'.` : `No job has the id '${id}'.`,
    hint: "List the jobs: cli jobs list <target>",
    meta: { job: id },
  });
}

function notCancellable(id: string, reason: string): Error {
  return appError("job_not_cancellable", {
    detail: `Job ${id} ${reason}.`,
    hint: "Check its progress: cli jobs list <target> --all",
    meta: { job: id },
  });
}
