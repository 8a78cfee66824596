import type { CatalogColumn, CatalogTable } from "../../catalog/catalog.ts";
import { loadDefinitions } from "../../catalog/load-catalog.ts";
import { undoTable } from "../../catalog/sql-names.ts";
import type { SqlConnection, SqlPool } from "../../ports.ts";
import { quoteIdent, quoteTable } from "../../sql/quote.ts";
import type { Fill } from "../fills/fill-plan.ts";
import { BY_KEY } from "../fills/fill-statement.ts";
import type { Job } from "../job-store.ts";

/**
 * Previous values of a job that recomputes existing columns and must leave no changes when it fails. Each batch copies
 * them to a table of the job, in the statement that overwrites them. The table is dropped when the job has ended.
 */

/** Rows per transaction of a restore. */
const BATCH = 5_000;

/** Creates the table if the job keeps previous values and has none yet. */
export async function openUndoLog(sql: SqlConnection, { table, undo }: Fill): Promise<void> {
  if (undo === null) return;
  const columns = undo.columns.map(({ id, name }) => `, ${quoteIdent(name)} as "#${id}"`).join("");
  await sql.query({
    text: `create table if not exists ${undo.table} as
      select ${quoteIdent(table.identity)} as "#id", xmin as "#xid", _errors as "#errors"${columns}
      from ${quoteTable(table)} with no data`,
  });
}

/** Drops the table, in the transaction that ends the job. */
export async function dropUndoLog(sql: SqlConnection, job: Job): Promise<void> {
  await sql.query({ text: `drop table if exists ${undoTable(job.id)}` });
}

/**
 * Restores all previous values, batch by batch, and keeps the ids of its transactions. After an interruption it continues
 * where it stopped. A row that others changed since keeps its values. Returns false when the job has kept nothing.
 */
export async function undoJob(sql: SqlPool, job: Job, signal: AbortSignal): Promise<boolean> {
  const table = (await loadDefinitions(sql)).tables.find((candidate) => candidate.id === job.table_id);
  const columns = await loggedColumns(sql, job, table);
  if (table === undefined || columns === undefined) return false;
  const text = restoreRowsSql(table, undoTable(job.id), columns);
  for (;;) {
    signal.throwIfAborted();
    const { rows } = await sql.transaction((connection) => connection.query({ text }), BY_KEY);
    if (Number(rows[0]?.[0]) === 0) return true;
  }
}

/** Whether others have written rows since the job began. Reads the whole table. `hasUndone`: the job has an undo table. */
export async function wroteOthers(
  sql: SqlConnection,
  job: Job,
  table: CatalogTable,
  hasUndone: boolean,
): Promise<boolean> {
  const own = `select from ${undoTable(job.id)} as "#undo" where "#undo"."#id" is null and "#undo"."#xid" = "#row".xmin`;
  const { rows } = await sql.query({
    text: `select exists (select from ${quoteTable(table)} as "#row", appdb.jobs as "#job"
      where "#job".id = $1 and age("#row".xmin) < age("#job".began::xid)${hasUndone ? ` and not exists (${own})` : ""})`,
    values: [job.id],
  });
  return rows[0]?.[0] === "t";
}

/** The columns of the undo table that the table still has. Undefined without an undo table. */
async function loggedColumns(
  sql: SqlConnection,
  job: Job,
  table: CatalogTable | undefined,
): Promise<readonly CatalogColumn[] | undefined> {
  const { rows } = await sql.query({
    text: `select a.attname from pg_catalog.pg_attribute a
      where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped`,
    values: [undoTable(job.id)],
  });
  if (rows.length === 0) return undefined;
  const kept = new Set(rows.map(([name]) => name));
  // A recreated column waits for its own values.
  return table?.columns.filter((column) => kept.has(`#${column.id}`) && column.state === "ready") ?? [];
}

function restoreRowsSql(table: CatalogTable, undo: string, columns: readonly CatalogColumn[]): string {
  const sets = columns.map(({ id, name }) => `${quoteIdent(name)} = "#old"."#${id}", `).join("");
  return `with "#old" as (
    delete from ${undo} where ctid = any(array(select ctid from ${undo} where "#id" is not null limit ${BATCH}))
    returning *
  ), "#own" as (
    insert into ${undo} ("#xid") select pg_current_xact_id()::xid where exists (select from "#old")
  ), "#done" as (
    update ${quoteTable(table)} as "#target" set ${sets}_errors = "#old"."#errors"
    from "#old" where "#target".${quoteIdent(table.identity)} = "#old"."#id" and "#target".xmin = "#old"."#xid"
  )
  select count(*) from "#old"`;
}
