import type { OnError } from "@appdb/contract/jobs";
import type { CatalogColumn } from "../catalog/catalog.ts";
import type { Clock, SqlConnection, SqlPool } from "../ports.ts";

/** Rows of appdb.jobs. A runner holds a job by a lease. After the lease expires, any runner continues after the
 *  cursor. */
export interface Job {
  readonly id: string;
  readonly kind: "fill" | "recompute" | "close_pending" | "build_index";
  readonly table_id: number;
  readonly table_name: string;
  readonly column_ids: readonly number[];
  readonly index_id: number | null;
  readonly runtime_id: string | null;
  /** Digests of the functions' code when it was queued; null in jobs of earlier versions. */
  readonly code: Readonly<Record<string, string>> | null;
  readonly undo: readonly Pick<CatalogColumn, "id" | "computed" | "nullable">[];
  /** Identity of the last finished row. */
  readonly cursor: string | null;
  readonly rows_done: number;
  readonly rows_total: number | null;
  /** Leases since the last finished batch, including this one. */
  readonly attempts: number;
  readonly on_error: OnError;
  /** Only rows with an error in a cell of the job's columns. */
  readonly errors_only: boolean;
  /** The job was cancelled: its changes are undone or, with `ignore`, kept. */
  readonly is_cancelled: boolean;
  /** The error of a failed job that is restoring previous values. */
  readonly undoing: JobError | null;
}

export interface LeaseInput {
  readonly owner: string;
  readonly clock: Clock;
}

export const LEASE_MS = 15_000;
/** First key of the advisory lock between writers of pending cells (`appdb.mark_pending`) and the runners that close them; the second
 *  is the table's id. */
export const PENDING_LOCK = 1_634_755_692;

/** Leases the oldest free job. Of each table only the oldest is considered, so that its jobs never overlap. */
export async function leaseJob(sql: SqlPool, { owner, clock }: LeaseInput): Promise<Job | undefined> {
  const now = new Date(clock.now()).toISOString();
  const until = new Date(clock.now() + LEASE_MS).toISOString();
  const found = await sql.query({ text: NEXT_JOB, values: [owner, now] });
  const [id, tableId] = found.rows[0] ?? [];
  if (id == null) return undefined;
  return sql.transaction(async (connection) => {
    // Writers that add pending cells hold this lock shared until they have committed: the job sees all their rows.
    await connection.query({
      text: "select pg_advisory_xact_lock($1::int, ($2::bigint % 2147483647)::int)",
      values: [PENDING_LOCK, tableId],
    });
    const { rows } = await connection.query({
      text: `update appdb.jobs set state = 'running', owner = $2, lease_until = $3, attempts = attempts + 1,
          started_at = coalesce(started_at, now())
        where id = $1 and (state = 'queued' or (state = 'running' and (lease_until < $4 or owner = $2)))
        returning json_build_object(
          'id', id, 'kind', kind, 'table_id', table_id, 'table_name', table_name, 'column_ids', to_json(column_ids),
          'index_id', index_id, 'runtime_id', runtime_id, 'code', code, 'undo', undo, 'cursor', cursor, 'rows_done', rows_done,
          'rows_total', rows_total, 'attempts', attempts, 'on_error', on_error, 'errors_only', errors_only,
          'is_cancelled', is_cancelled, 'undoing', undoing)`,
      values: [id, owner, until, now],
    });
    const text = rows[0]?.[0];
    return text == null ? undefined : (JSON.parse(text) as Job);
  });
}

const NEXT_JOB = `
select j.id, j.table_id from appdb.jobs j, appdb.state s
where j.incarnation = s.incarnation
  and (j.state = 'queued' or (j.state = 'running' and (j.lease_until < $2 or j.owner = $1)))
  and not exists (
    select from appdb.jobs o
    where o.table_id = j.table_id and o.seq < j.seq and o.state in ('queued', 'running')
      and o.incarnation = s.incarnation)
order by j.seq limit 1`;

/** Renews a lease. `lost`: another runner holds the job, or it has ended. */
export async function renewLease(
  sql: SqlConnection,
  job: Job,
  { owner, clock }: LeaseInput,
): Promise<"kept" | "lost" | "cancelled"> {
  const { rows } = await sql.query({
    text: `update appdb.jobs set lease_until = $3 where id = $1 and owner = $2 and state = 'running'
      returning is_cancelled`,
    values: [job.id, owner, new Date(clock.now() + LEASE_MS).toISOString()],
  });
  if (rows[0] === undefined) return "lost";
  return rows[0][0] === "t" && !job.is_cancelled ? "cancelled" : "kept";
}

/** Moves the cursor in the transaction that wrote the rows. Rows inserted since the count add to the total. Checks that the lease is held, the job not cancelled and
 *  the table unchanged. False: the transaction must be rolled back. */
export async function advanceJob(
  sql: SqlConnection,
  job: Job,
  owner: string,
  step: {
    readonly cursor: string | null;
    readonly rows: number;
    /** Number of cells that got an error. */
    readonly errors: number;
    readonly table_version: number;
  },
): Promise<boolean> {
  const { row_count: rowCount } = await sql.query({
    text: `update appdb.jobs set cursor = $3, rows_done = rows_done + $4, errors = errors + $6, attempts = 0,
          rows_total = case when rows_total < rows_done + $4 then rows_done + $4 else rows_total end
      where id = $1 and owner = $2 and state = 'running' and not is_cancelled and undoing is null
        and (select version from appdb.tables where id = table_id) = $5`,
    values: [job.id, owner, step.cursor, step.rows, step.table_version, step.errors],
  });
  return rowCount === 1;
}

export async function setTotal(sql: SqlConnection, job: Job, rowsTotal: number): Promise<void> {
  await sql.query({
    text: "update appdb.jobs set rows_total = greatest($2::bigint, rows_done) where id = $1",
    values: [job.id, rowsTotal],
  });
}

/** Counts rows that the last transaction of a job has written. */
export async function addRows(sql: SqlConnection, job: Job, rows: number): Promise<void> {
  await sql.query({
    text: `update appdb.jobs set rows_done = rows_done + $2, rows_total = greatest(rows_total, rows_done + $2)
      where id = $1`,
    values: [job.id, rows],
  });
}

/** Starts a job at its first row again. Undefined when another runner holds it. */
export async function restartJob(sql: SqlConnection, job: Job, owner: string): Promise<Job | undefined> {
  const { row_count: rowCount } = await sql.query({
    text: `update appdb.jobs set cursor = null, rows_done = 0, errors = 0
      where id = $1 and owner = $2 and state = 'running'`,
    values: [job.id, owner],
  });
  return rowCount === 1 ? { ...job, cursor: null, rows_done: 0 } : undefined;
}

/** Releases a job; the next runner continues after the cursor, and the lease does not count. The job stays `running` with
 *  an expired lease, because a table has at most one queued job that fills pending cells. */
export async function releaseJob(sql: SqlConnection, job: Job, owner: string): Promise<void> {
  await sql.query({
    text: `update appdb.jobs set owner = null, lease_until = '-infinity', attempts = greatest(attempts - 1, 0)
      where id = $1 and owner = $2 and state = 'running'`,
    values: [job.id, owner],
  });
}

/** The error of a failed job; watchers throw it. */
export interface JobError {
  readonly code: "fill_failed" | "recompute_failed" | "job_cancelled" | "schema_unsupported" | "disk_full";
  readonly detail: string;
  /** The end of `detail` that says what the failure leaves; absent where it says more. */
  readonly outcome?: string;
  readonly hint: string;
  readonly meta: Readonly<Record<string, unknown>>;
}

/** Ends a job of this runner. False when another runner holds it, or when it was cancelled or stopped and must now be
 *  undone. */
export async function endJob(sql: SqlConnection, job: Job, owner: string, error: JobError | null): Promise<boolean> {
  const { row_count: rowCount } = await sql.query({
    text: `update appdb.jobs set state = $3, error = $4, ended_at = now(), owner = null, lease_until = null
      where id = $1 and owner = $2 and state = 'running' and not ($3 = 'done' and (is_cancelled or undoing is not null))`,
    values: [job.id, owner, stateAfter(error), error === null ? null : JSON.stringify(error)],
  });
  return rowCount === 1;
}

function stateAfter(error: JobError | null): string {
  if (error === null) return "done";
  return error.code === "job_cancelled" ? "cancelled" : "failed";
}

/** From now on, any runner only restores previous values of the job. False when another runner holds it. */
export async function beginUndoing(sql: SqlConnection, job: Job, owner: string, error: JobError): Promise<boolean> {
  const { row_count: rowCount } = await sql.query({
    text: `update appdb.jobs set undoing = $3, attempts = 0 where id = $1 and owner = $2 and state = 'running'`,
    values: [job.id, owner, JSON.stringify(error)],
  });
  return rowCount === 1;
}

/** The columns of the open jobs that compute one of these columns. */
export async function columnsOfOpenJobs(sql: SqlConnection, columnIds: readonly number[]): Promise<number[]> {
  const { rows } = await sql.query({
    text: `select distinct unnest(column_ids) from appdb.jobs
      where state in ('queued', 'running') and kind <> 'close_pending' and column_ids && $1::bigint[]`,
    values: [[...columnIds]],
  });
  return rows.map(([id]) => Number(id));
}

/** Fails the open jobs that would compute one of these columns. They cannot be done without them. */
export async function failOpenJobs(sql: SqlConnection, columnIds: readonly number[], error: JobError): Promise<void> {
  await sql.query({
    text: `update appdb.jobs set state = 'failed', error = $2, ended_at = now(), owner = null, lease_until = null
      where state in ('queued', 'running') and kind <> 'close_pending' and column_ids && $1::bigint[]`,
    values: [[...columnIds], JSON.stringify(error)],
  });
}
