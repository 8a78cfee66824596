import type { CatalogTable } from "../../catalog/catalog.ts";
import { deleteColumn, deleteIndex, markBuilding, storeExpression, storeType } from "../../catalog/catalog-store.ts";
import * as ddl from "../../catalog/ddl.ts";
import { loadDefinitions } from "../../catalog/load-catalog.ts";
import { columnsIn } from "../../catalog/operations.ts";
import { isRetyped, SHADOWS, type Shadow, settledTable, shadowsOf } from "../../catalog/shadow-columns.ts";
import { type SqlConnection, SqlError } from "../../ports.ts";
import { quoteIdent, quoteLiteral, quoteTable } from "../../sql/quote.ts";
import { followDroppedColumns, followMakers } from "../../views/row-triggers.ts";
import { placeDefinitions } from "../../views/view-store.ts";
import { type AtOnce, type FillOptions, planFill } from "../fills/fill-plan.ts";
import { inScope, isPending, type RowScope } from "../fills/fill-statement.ts";
import type { JobDeps } from "../job-deps.ts";
import { addRows, type Job } from "../job-store.ts";
import { whenTableIsFree } from "./open-shadows.ts";

/** What a job has put in place. */
export interface Placed {
  /** The ids of the columns, without those that kept values. */
  readonly computed: readonly number[];
  /** Names of columns that the catalog has no more. */
  readonly dropped: readonly string[];
}

/** SQL refuses a value that was to be computed when it is put in place. Batches can compute it in Python. */
export class ValueRefused extends Error {}

/**
 * Puts the values of a job's shadows in place, in the transaction that ends the job. Readers see all previous values
 * until it commits. Writers of the table wait. Undefined without any shadow.
 * @throws ValueRefused
 */
export async function placeShadows(
  sql: SqlConnection,
  job: Job,
  options: FillOptions = {},
): Promise<Placed | undefined> {
  // It has only completed the shadows of some rows, for the job that fills them.
  if (job.kind === "close_pending") return undefined;
  const catalog = await loadDefinitions(sql);
  const table = catalog.tables.find(({ id }) => id === job.table_id);
  const fill = planFill(catalog, job, options);
  if (table === undefined || fill === undefined) return undefined;
  const all = shadowsOf(table).filter(({ shadow }) => job.column_ids.includes(shadow.id));
  if (all.length === 0) return undefined;
  const shadows = all.filter(({ shadow }) => shadow.computed !== null);
  const gone = all.flatMap(({ column, shadow }) => (shadow.computed === null ? [column] : []));
  const retyped = shadows.filter(isRetyped);
  const mode = retyped.length === 0 ? "share row exclusive" : "access exclusive";
  await sql.query({ text: `lock table ${quoteTable(table)} in ${mode} mode` });
  const placed = new Set(shadows.map(({ column }) => column.name));
  await followMakers(sql, catalog.tables, settledTable(table), placed);
  const { at_once: atOnce, scope } = fill;
  if (atOnce !== null) await addRows(sql, job, await computeInPlace(sql, computeValues(table, shadows, atOnce, scope)));
  await sql.query({ text: placeValues(table, shadows, scope, atOnce?.excluded ?? "true") });
  await replaceRetyped(sql, table, retyped);
  for (const { column, shadow } of shadows) await storeType(sql, column.id, shadow);
  for (const { id, computed } of settledTable(table).columns) {
    if (computed === null) continue;
    await storeExpression(sql, { id, computed }, computed.expr);
  }
  // Cells of the shadows that older services left are now cells of the columns.
  for (const { column, shadow } of shadows) {
    await sql.query({
      text: `update appdb.jobs set column_ids = array_replace(column_ids, $1, $2)
        where table_id = $3 and kind = 'close_pending' and state in ('queued', 'running')`,
      values: [shadow.id, column.id, table.id],
    });
  }
  await sql.query({
    text: "delete from appdb.columns where id = any($1::bigint[])",
    values: [all.map(({ shadow }) => shadow.id)],
  });
  for (const { id } of gone) await deleteColumn(sql, id);
  await placeDefinitions(sql, table.id);
  await followDroppedColumns(sql, table.id);
  const kept = new Set(fill.kept.map(({ name }) => name));
  return {
    computed: shadows.flatMap(({ column, shadow }) => (kept.has(shadow.name) ? [] : [column.id])),
    dropped: gone.map(({ name }) => name),
  };
}

/** Columns that get another type are dropped, with their indexes, and their shadows have their names. Jobs that wait
 *  build the indexes that remain declared. */
async function replaceRetyped(sql: SqlConnection, table: CatalogTable, retyped: readonly Shadow[]): Promise<void> {
  const names = new Set(retyped.map(({ column }) => column.name));
  const lost = table.indexes.filter((index) => columnsIn(index).some((name) => names.has(name)));
  for (const { column, shadow } of retyped) {
    for (const text of ddl.replaceColumn(table, shadow.name, column.name)) await sql.query({ text });
    if (column.comment !== null) await sql.query({ text: ddl.commentOnColumn(table, column.name, column.comment) });
  }
  for (const { id } of lost) {
    const { rows } = await sql.query({
      text: "select exists (select from appdb.jobs where index_id = $1 and state in ('queued', 'running'))",
      values: [id],
    });
    if (rows[0]?.[0] === "t") await markBuilding(sql, id);
    else await deleteIndex(sql, id);
  }
}

/** Returns the number of rows. @throws ValueRefused */
async function computeInPlace(sql: SqlConnection, text: string): Promise<number> {
  try {
    return (await sql.query({ text })).row_count;
  } catch (cause) {
    if (!(cause instanceof SqlError) || !cause.sqlstate.startsWith("22")) throw cause;
    throw new ValueRefused(cause.message, { cause });
  }
}

/** Writes each row once, in one statement, and no shadow: half of the writes that batches need. */
function computeValues(
  table: CatalogTable,
  shadows: readonly Shadow[],
  { steps, excluded }: AtOnce,
  scope: RowScope | null,
): string {
  const names = shadows.map(({ column }) => quoteIdent(column.name));
  const next = shadows.map(({ shadow }) => quoteIdent(shadow.name));
  const computed = steps.map(
    ({ column, expression }, at) => `lateral (select ${expression} as ${quoteIdent(column)}) as "#step${at}"`,
  );
  return `update ${quoteTable(table)} set (${names.join(", ")}) = (select ${next.join(", ")} from ${computed.join(", ")})
  where ${inScope(scope)} and ${excluded} is not true`;
}

/**
 * Copies the shadows of the job's rows, if they differ from the columns. A row that an older service has written since
 * keeps the value of that service: a later job computes it again.
 */
function placeValues(
  table: CatalogTable,
  shadows: readonly Shadow[],
  scope: RowScope | null,
  isIncluded: string,
): string {
  const isOfJob = `(${inScope(scope)}) is true`;
  const copied = shadows.filter((shadow) => !isRetyped(shadow));
  const names = copied.map(({ column }) => quoteIdent(column.name));
  const next = copied.map(({ shadow }) => quoteIdent(shadow.name));
  const values = copied.map(({ shadow }, at) => {
    const isPlaced = `${isOfJob} and (${isPending(shadow.name)}) is not true`;
    return `${names[at]} = case when ${isPlaced} then ${next[at]} else ${names[at]} end,\n    `;
  });
  const own = `array[${shadows.map(({ column }) => quoteLiteral(column.name)).join(", ")}]::text[]`;
  const others = `array[${shadows.map(({ shadow }) => quoteLiteral(shadow.name)).join(", ")}]::text[]`;
  const replaced = `array[${shadows
    .filter(isRetyped)
    .map(({ column }) => quoteLiteral(column.name))
    .join(", ")}]::text[]`;
  const errors = `select jsonb_object_agg(coalesce("#m"."#name", "#e"."#key"), "#e"."#value" order by "#e"."#value" = '"pending"')
      from jsonb_each(_errors) as "#e"("#key", "#value")
      left join unnest(${others}, ${own}) as "#m"("#shadow", "#name") on "#m"."#shadow" = "#e"."#key"
      where not ("#e"."#key" = any(${own}) and ${isOfJob} and "#e"."#value" <> '"pending"')`;
  return `update ${quoteTable(table)} set
    ${values.join("")}_errors = case when _errors is null then null else (${errors}) end
  where ${isIncluded}
    and ((${isOfJob} and row(${names.join(", ")})::record *<> row(${next.join(", ")})::record) or _errors ?| (${others} || ${replaced}))`;
}

/**
 * Drops shadows that are in place, and columns of views that went with their previous values. The job has ended, so a
 * killed process leaves them behind: shadows to the next job, others until a column of their name is added.
 */
export async function dropPlaced(
  { sql, log }: JobDeps,
  job: Job,
  dropped: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const table = (await loadDefinitions(sql)).tables.find(({ id }) => id === job.table_id);
  if (table === undefined) return;
  const { rows } = await sql.query({
    text: `select attname from pg_catalog.pg_attribute where attrelid = to_regclass($1) and attnum > 0
      and (attname like $2 or attname = any($3::text[])) and not attisdropped and not attname = any($4::text[])`,
    values: [quoteTable(table), SHADOWS, [...dropped], table.columns.map(({ name }) => name)],
  });
  if (rows.length === 0) return;
  await whenTableIsFree(sql, signal, async (connection) => {
    for (const [name] of rows) {
      for (const text of ddl.dropColumn(table, name ?? "")) await connection.query({ text });
    }
  });
  log.debug({ job: job.id, table: table.name, columns: rows.length }, "previous columns of views were dropped");
}
