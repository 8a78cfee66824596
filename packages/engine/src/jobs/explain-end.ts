import type { AppError } from "@appdb/contract/errors";
import type { CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { loadDefinitions } from "../catalog/load-catalog.ts";
import { isShadow, shadowedName, shadowsOf } from "../catalog/shadow-columns.ts";
import { shownRowKey } from "../catalog/shown-values.ts";
import { columnLabel, viewOfRows } from "../catalog/sql-names.ts";
import { describeUdfError, failedPart, missingHint } from "../compute/run-graph.ts";
import { UUID_TYPE } from "../kinds/kinds.ts";
import type { SqlPool } from "../ports.ts";
import { quoteIdent, quoteTable } from "../sql/quote.ts";
import { type RowKey, rowKey } from "../views/row-keys.ts";
import type { RowFailed } from "./fills/fill-context.ts";
import type { Job, JobError } from "./job-store.ts";

const KEEP_COLUMNS = "its columns keep their previous expressions and values";
const KEEPS_COLUMN = "The column keeps its previous expression and values.";

/** The identity of rows that have no key. */
const ROW = "_row";

/** The error for people about the row that ended a fill. */
export async function explainRowFailure(sql: SqlPool, job: Job, failure: RowFailed): Promise<JobError> {
  const { error, column } = failure;
  const { tables } = await loadDefinitions(sql);
  const table = tables.find((candidate) => candidate.id === job.table_id);
  const row = table === undefined ? [] : await readRowKey(sql, table, tables, failure.row);
  const [done, total] = await countDone(sql, job);
  const failing = table?.columns.find((candidate) => candidate.name === column);
  const isOfShadow = failing !== undefined && isShadow(failing);
  const shown = table === undefined ? column : shadowedName(table, column);
  const isNew = failing?.state === "filling" && !isOfShadow;
  const where = error.at === null ? "" : ` (${error.at})`;
  const isManual = job.kind === "recompute" && job.undo.length === 0;
  const isMissing = error.kind === "missing";
  const again = isManual ? " and try again" : ", then run the update again";
  const what = isMissing
    ? describeUdfError(error)
    : `${failedPart(error, failing?.computed?.text)} failed with ${error.type}: ${error.message}${where} for the row ${row.map(({ name, shown }) => `${name} = ${shown}`).join(", ")}`;
  const keeps = isOfColumns(table) ? KEEPS_COLUMN : "The view keeps its previous rows.";
  const outcome = ` ${isOfShadow ? keeps : describeRemaining(job, isNew ? column : null, done)}`;
  return {
    code: isManual ? "recompute_failed" : "fill_failed",
    detail: `${columnLabel(job.table_name, shown)}: ${what}; ${done} of ${total} rows were done.${outcome}`,
    outcome,
    hint: isMissing
      ? missingHint(error, "change the column and run `cli schema update`")
      : `Correct the function or that row${again}, or let failing cells be null: --on-error ignore`,
    meta: {
      table: job.table_name,
      column: shown,
      function: error.function,
      type: error.type,
      message: error.message,
      at: error.at,
      row: Object.fromEntries(row.map(({ name, shown }) => [name, shown])),
      rows_done: done,
      rows_total: total,
    },
  };
}

/** The error for people about a fill or recompute that stopped because the database must not grow. */
export async function outOfSpace(sql: SqlPool, job: Job, error: AppError): Promise<JobError> {
  const { tables } = await loadDefinitions(sql);
  const table = tables.find(({ id }) => id === job.table_id);
  const added = table?.columns.filter(({ id, state }) => job.column_ids.includes(id) && state === "filling") ?? [];
  const [done, total] = await countDone(sql, job);
  const outcome = `: ${whatStays(job, table, added, done)}.`;
  return {
    code: "disk_full",
    detail: `${error.message} The ${job.kind} of table ${job.table_name} ended after ${done} of ${total} rows${outcome}`,
    outcome,
    hint: error.hint ?? "Free space on the disk, and run the update again.",
    meta: { ...error.meta, table: job.table_name, job: job.id, rows_done: done, rows_total: total },
  };
}

/** The error for people about a fill or recompute whose attempts all ended at one batch, which begins with `row`. */
export async function explainInterruptions(
  sql: SqlPool,
  job: Job,
  { row, attempts }: { readonly row: string | undefined; readonly attempts: number },
): Promise<JobError> {
  const { tables } = await loadDefinitions(sql);
  const table = tables.find(({ id }) => id === job.table_id);
  const added = table?.columns.filter(({ id, state }) => job.column_ids.includes(id) && state === "filling") ?? [];
  const key = table === undefined || row === undefined ? [] : await readRowKey(sql, table, tables, row);
  const shown = key.map(({ name, shown: value }) => `${name} = ${value}`).join(", ");
  const where = key.length === 0 ? "after the last row" : `in the batch of rows that begins with ${shown}`;
  const [done, total] = await countDone(sql, job);
  const outcome = `; ${whatStays(job, table, added, done)}.`;
  return {
    code: "fill_failed",
    detail: `The ${job.kind} of table ${job.table_name} was given up after ${attempts} attempts: PostgreSQL or the job's process ended each time ${where}, perhaps without memory. ${done} of ${total} rows were done${outcome}`,
    outcome,
    hint: "Give the database more memory (memory_mb), or make the values of these rows smaller; then run the update again.",
    meta: {
      table: job.table_name,
      job: job.id,
      row: Object.fromEntries(key.map(({ name, shown: value }) => [name, value])),
      rows_done: done,
      rows_total: total,
    },
  };
}

/** Whether the shadows of a table are of columns that people see, and not only of its views. */
function isOfColumns(table: CatalogTable | undefined): boolean {
  return table !== undefined && shadowsOf(table).some(({ column }) => column.is_hidden !== true);
}

function whatStays(job: Job, table: CatalogTable | undefined, added: readonly CatalogColumn[], done: number): string {
  if (added.some(isShadow)) return isOfColumns(table) ? KEEP_COLUMNS : "the view keeps its previous rows";
  if (added.length > 0) return whatNewLost(added);
  if (job.undo.length > 0) return KEEP_COLUMNS;
  return job.on_error === "abort" || done === 0
    ? "every row keeps its previous value"
    : "finished rows keep their new values";
}

/** New columns are dropped. One that makes or says the rows of a view is known to people by the view. */
function whatNewLost(added: readonly CatalogColumn[]): string {
  const views = new Set(added.flatMap(({ name }) => viewOfRows(name) ?? []));
  const lost = [...views].map((view) => `the view ${view} has no rows`);
  if (added.some(({ name }) => viewOfRows(name) === undefined)) lost.unshift("its new columns were dropped");
  return lost.join(", and ");
}

async function countDone(sql: SqlPool, job: Job): Promise<readonly [number, number]> {
  const { rows } = await sql.query({
    text: "select rows_done, rows_total from appdb.jobs where id = $1",
    values: [job.id],
  });
  const [done = 0, total = 0] = (rows[0] ?? []).map((count) => Number(count ?? 0));
  return [done, total];
}

/** The key of a row as text. A row that was deleted meanwhile has its identity. */
async function readRowKey(
  sql: SqlPool,
  table: CatalogTable,
  tables: readonly CatalogTable[],
  id: string,
): Promise<readonly { readonly name: string; readonly shown: string }[]> {
  const { columns, values } = shownKey(table, tables);
  const identity = quoteIdent(table.identity);
  const { rows } = await sql.query({
    text: `select ${values.join(", ")} from ${quoteTable(table)} as "t" where "t".${identity} = $1::uuid`,
    values: [id],
  });
  const [found] = rows;
  if (found === undefined) return [{ name: table.identity, shown: id }];
  const key = shownRowKey(columns, found);
  return columns.map(({ name, type }) => {
    const value = key[name];
    return { name, shown: type.kind === UUID_TYPE.kind ? String(value) : JSON.stringify(value) };
  });
}

/** Stored columns that show a row of a table without a key, whose identity people do not see. */
const SHOWN_COLUMNS = 3;

function shownKey(table: CatalogTable, tables: readonly CatalogTable[]): RowKey {
  const key = rowKey(table, tables, "t");
  const isInternal = table.rows_of == null && table.primary_key.length === 0 && table.identity === ROW;
  const own = table.columns.filter(({ computed, is_hidden: isHidden, name }) => {
    return computed === null && isHidden !== true && name !== ROW && !name.includes(".");
  });
  if (!isInternal || own.length === 0) return key;
  const columns = own.slice(0, SHOWN_COLUMNS);
  return { columns, values: columns.map(({ name }) => `"t".${quoteIdent(name)}`) };
}

function describeRemaining(job: Job, added: string | null, done: number): string {
  if (added !== null) {
    const view = viewOfRows(added);
    return view === undefined ? "The new column was dropped." : `The view ${view} has no rows.`;
  }
  if (job.undo.length > 0) return KEEPS_COLUMN;
  return job.on_error === "abort" || done === 0
    ? "Every row keeps its previous value."
    : "Rows before it have their new values.";
}

/** The error of a cancelled job, which says what happens to its columns. */
export async function explainCancel(sql: SqlPool, job: Job): Promise<JobError> {
  const table = (await loadDefinitions(sql)).tables.find(({ id }) => id === job.table_id);
  const own = table?.columns.filter(({ id }) => job.column_ids.includes(id)) ?? [];
  const isNew = ({ state }: CatalogColumn) => state === "filling";
  const isPutBack = job.on_error === "abort";
  const added = own.filter((column) => isNew(column) && !isShadow(column));
  const stays = [
    ...(added.length > 0 ? [whatNewLost(added)] : []),
    ...(own.some(isShadow)
      ? [isOfColumns(table) ? KEEP_COLUMNS : "its views keep their previous rows and values"]
      : []),
    ...(own.some((column) => !isNew(column) && isPutBack)
      ? [
          "rows that no one else changed meanwhile have their previous values again",
          ...(job.undo.length > 0 ? ["the next update or recompute computes the others"] : []),
        ]
      : []),
    ...(own.some((column) => !isNew(column) && !isPutBack) ? ["finished rows keep their new values"] : []),
  ];
  const isOfUpdate = job.kind !== "recompute" || job.undo.length > 0;
  const outcome = stays.length === 0 ? "." : `: ${stays.join(", and ")}.`;
  return {
    code: "job_cancelled",
    detail: `The ${job.kind} of table ${job.table_name} was cancelled${outcome}`,
    outcome,
    hint: isOfUpdate
      ? "To run it, update the tables again: cli schema update <file> <target>"
      : `To run it: cli recompute <target>/${job.table_name}`,
    meta: { table: job.table_name, job: job.id },
  };
}
