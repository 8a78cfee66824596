import { setTimeout as sleep } from "node:timers/promises";
import type { CatalogColumn, CatalogTable } from "../../catalog/catalog.ts";
import { bumpCatalog, insertColumn, lockCatalog } from "../../catalog/catalog-store.ts";
import * as ddl from "../../catalog/ddl.ts";
import { loadDefinitions } from "../../catalog/load-catalog.ts";
import { newShadows, shadowOf } from "../../catalog/shadow-columns.ts";
import { LOCK_PAUSE_MS } from "../../catalog/table-locks.ts";
import { WaitingChange } from "../../catalog/waiting-change.ts";
import { madeRowsIn } from "../../expressions/made-rows.ts";
import type { SqlConnection, SqlPool } from "../../ports.ts";
import { JobLost } from "../fills/fill-context.ts";
import type { JobDeps } from "../job-deps.ts";
import type { Job } from "../job-store.ts";

/**
 * Adds shadows of columns to a table and to the catalog. `gone`: columns to drop when the shadows are in place. Returns
 * the ids of the shadows, with the names of the columns.
 */
export async function addShadows(
  sql: SqlConnection,
  table: CatalogTable,
  shadowed: ReadonlySet<string>,
  gone: readonly CatalogColumn[] = [],
): Promise<readonly { readonly id: number; readonly name: string }[]> {
  const added: { id: number; name: string }[] = [];
  const dropped = gone.map((column) => ({ column, shadow: shadowOf(column, null) }));
  for (const { column, shadow } of [...newShadows(table, shadowed), ...dropped]) {
    // A killed job may have left it behind.
    await sql.query({ text: ddl.dropShadow(table, shadow.name) });
    for (const text of ddl.addColumn(table, { ...shadow, renamed_from: null })) await sql.query({ text });
    added.push({
      id: await insertColumn(sql, table.id, { ...shadow, renamed_from: null }, "filling"),
      name: column.name,
    });
  }
  return added;
}

/**
 * Before a job computes columns that make the rows of iterator views again, gives them shadows: rows that are replaced
 * one batch after the other could not be restored. Returns the job with the shadows in place of the columns.
 * @throws JobLost
 */
export async function openShadows(deps: JobDeps, job: Job, signal: AbortSignal): Promise<Job> {
  if (job.kind === "close_pending") return job;
  return whenTableIsFree(deps.sql, signal, async (connection) => {
    await lockCatalog(connection);
    const table = (await loadDefinitions(connection)).tables.find(({ id }) => id === job.table_id);
    const makers = (table?.columns ?? []).filter(({ id, state, computed }) => {
      return job.column_ids.includes(id) && state === "ready" && computed !== null && madeRowsIn(computed.expr);
    });
    if (table === undefined || makers.length === 0) return job;
    const added = await addShadows(connection, table, new Set(makers.map(({ name }) => name)));
    const own = job.column_ids.filter((id) => makers.every((maker) => maker.id !== id));
    const columnIds = [...own, ...added.map(({ id }) => id)];
    const { row_count: count } = await connection.query({
      text: "update appdb.jobs set column_ids = $3 where id = $1 and owner = $2 and state = 'running'",
      values: [job.id, deps.owner, columnIds],
    });
    if (count === 0) throw new JobLost("the job has another owner or state");
    await bumpCatalog(connection, [table.id]);
    return { ...job, column_ids: columnIds };
  });
}

/** Runs a transaction that locks a table. While the table is in use, it waits and tries again. */
export async function whenTableIsFree<T>(
  sql: SqlPool,
  signal: AbortSignal,
  work: (connection: SqlConnection) => Promise<T>,
): Promise<T> {
  const change = new WaitingChange(sql);
  for (;;) {
    const attempt = await change.attempt(work, "set local statement_timeout = 0");
    if ("result" in attempt) return attempt.result;
    await sleep(LOCK_PAUSE_MS, undefined, { signal });
  }
}
