import { isDeepStrictEqual } from "node:util";
import type { CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import {
  bumpCatalog,
  deleteColumn,
  deleteIndex,
  lockCatalog,
  markStale,
  restoreColumn,
} from "../catalog/catalog-store.ts";
import { dropColumn, dropIndex } from "../catalog/ddl.ts";
import { loadDefinitions } from "../catalog/load-catalog.ts";
import { columnsIn } from "../catalog/operations.ts";
import { isRetyped, shadowsOf } from "../catalog/shadow-columns.ts";
import { madeRowsIn } from "../expressions/made-rows.ts";
import { referencedColumns } from "../expressions/needs-python.ts";
import type { SqlConnection } from "../ports.ts";
import { quoteIdent, quoteLiteral, quoteTable } from "../sql/quote.ts";
import { BASE_ROW } from "../views/lower-iterators.ts";
import { dropMadeRows, followDroppedColumns } from "../views/row-triggers.ts";
import { keepDefinitions, placeFilled } from "../views/view-store.ts";
import { JobLost } from "./fills/fill-context.ts";
import type { FillOptions } from "./fills/fill-plan.ts";
import type { JobDeps } from "./job-deps.ts";
import { beginUndoing, columnsOfOpenJobs, endJob, failOpenJobs, type Job, type JobError } from "./job-store.ts";
import { whenTableIsFree } from "./previous-values/open-shadows.ts";
import { dropPlaced, placeShadows } from "./previous-values/place-shadows.ts";
import { dropUndoLog, undoJob, wroteOthers } from "./previous-values/undo-log.ts";
import { findRelatedRebuilds, stopRelated, withRelated } from "./related-rebuilds.ts";
import { rememberCode } from "./remember-code.ts";
import { rememberFailed } from "./remember-end.ts";

/** The last transaction of a fill or recompute: new columns become visible, new values of views are put in place, and
 *  no column is stale. Locks the catalog, the table and then jobs, in the same order as an update. @throws ValueRefused */
export async function finishFill(
  deps: JobDeps,
  job: Job,
  signal: AbortSignal,
  options: FillOptions = {},
): Promise<void> {
  const dropped = await whenTableIsFree(deps.sql, signal, async (connection) => {
    await lockCatalog(connection);
    const placed = await placeShadows(connection, job, options);
    // Rolls back what was put in place.
    if (!(await endJob(connection, job, deps.owner, null))) throw new JobLost("the job was cancelled or taken over");
    await dropUndoLog(connection, job);
    // Of a new column or shadow, a job of pending cells has completed some rows; the job that fills it follows.
    const isFill = job.kind !== "close_pending";
    const isOfAllRows = isFill && !job.errors_only;
    const ids = [...job.column_ids, ...(placed?.computed ?? [])];
    const made = isOfAllRows ? await columnsOfMadeRows(connection, ids) : [];
    const ready = await connection.query({
      text: `update appdb.columns set state = 'ready', stale = stale and not $2
        where id = any($1::bigint[]) and ((state = 'filling' and $3) or (stale and $2))`,
      values: [[...ids, ...made], isOfAllRows, isFill],
    });
    if (isOfAllRows) await rememberCode(connection, ({ id }) => ids.includes(id) || made.includes(id), job.code);
    if (isFill) await placeFilled(connection, job.table_id);
    await forgetMended(connection, job.table_id);
    if (ready.row_count > 0 || placed !== undefined) await bumpCatalog(connection, [job.table_id]);
    return placed?.dropped ?? [];
  });
  await dropPlaced(deps, job, dropped, signal);
}

/** The computed columns of iterator views, and of views over them, whose rows columns of a job have made. */
async function columnsOfMadeRows(sql: SqlConnection, ids: readonly number[]): Promise<readonly number[]> {
  const { tables } = await loadDefinitions(sql);
  const found = new Set(ids);
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const table of tables) {
      const base = tables.find(({ folder, name }) => folder === table.folder && name === table.rows_of?.table);
      const maker = base?.columns.find(({ name }) => name === table.rows_of?.column);
      if (maker === undefined || !found.has(maker.id)) continue;
      for (const { id, computed, state } of table.columns) if (computed !== null && state === "ready") found.add(id);
    }
  }
  return [...found].filter((id) => !ids.includes(id));
}

/** A row has the error of a failed cell in the rows that it makes. Forgets those whose cells have values now. */
async function forgetMended(sql: SqlConnection, tableId: number): Promise<void> {
  const { tables } = await loadDefinitions(sql);
  let view = tables.find(({ id }) => id === tableId);
  while (view?.rows_of != null) {
    const { folder, rows_of: rowsOf } = view;
    const base = tables.find((table) => table.folder === folder && table.name === rowsOf.table);
    if (base === undefined) return;
    const [name, column] = [quoteLiteral(rowsOf.column), quoteIdent(rowsOf.column)];
    await sql.query({
      text: `update ${quoteTable(base)} as b set _errors = nullif(_errors - ${name}, '{}')
        where _errors ? ${name} and ${column} is not null and not exists (
          select from ${quoteTable(view)} as v where v.${quoteIdent(BASE_ROW)} = b.${quoteIdent(base.identity)} and v._errors is not null)`,
    });
    view = base;
  }
}

/**
 * Ends a failed or cancelled job. New columns are dropped, with their indexes and the filling columns that read them.
 * Existing columns get their previous values and expression back, and are `stale` if others wrote rows meanwhile, by
 * the newer expression. With `ignore`, no previous values exist: the columns keep their values and are `stale` if some
 * rows were recomputed.
 */
export async function failFill(deps: JobDeps, job: Job, error: JobError, signal: AbortSignal): Promise<void> {
  if (job.undoing === null && !(await beginUndoing(deps.sql, job, deps.owner, error))) return;
  const isPutBack = await undoJob(deps.sql, job, signal);
  await whenTableIsFree(deps.sql, signal, (connection) => {
    return failOnce(connection, deps, job, job.undoing ?? error, isPutBack);
  });
}

async function failOnce(
  sql: SqlConnection,
  deps: JobDeps,
  job: Job,
  cause: JobError,
  isPutBack: boolean,
): Promise<void> {
  await lockCatalog(sql);
  const catalog = await loadDefinitions(sql);
  const table = catalog.tables.find((candidate) => candidate.id === job.table_id);
  const related = await findRelatedRebuilds(sql, catalog.tables, job);
  const error = withRelated(cause, related);
  if (!(await endJob(sql, job, deps.owner, error))) return;
  await stopRelated(sql, job, cause, related);
  const altered = alteredColumns(job, table);
  const hasOthers = table !== undefined && altered.length > 0 && (await wroteOthers(sql, job, table, isPutBack));
  await dropUndoLog(sql, job);
  if (table === undefined || job.kind === "close_pending") return;
  const index = table.indexes.find((candidate) => candidate.id === job.index_id);
  if (index !== undefined) {
    await sql.query({ text: dropIndex(table.folder, index.sql_name, { concurrently: false }) });
    await deleteIndex(sql, index.id);
  }
  const own = table.columns.filter((column) => job.column_ids.includes(column.id));
  const dropped = await withLaterJobs(
    sql,
    table,
    own.filter((column) => column.state === "filling"),
  );
  await dropMadeRows(sql, catalog.tables, table, new Set(dropped.map(({ name }) => name)));
  await dropNewColumns(sql, table, dropped, error);
  await dropUnbuilt(sql, table, dropped);
  await keepDefinitions(sql, table, catalog.views, dropped);
  const added = addedToRows(catalog.tables, table, dropped);
  for (const { view, columns } of added) await dropNewColumns(sql, view, columns, error);
  // columns that read an altered one have no other expression
  const isStale = hasOthers || (!isPutBack && (await hasBegun(sql, job)));
  for (const column of own.filter((candidate) => candidate.state === "ready")) {
    const previous = job.undo.find((candidate) => candidate.id === column.id);
    if (previous !== undefined) {
      await restoreColumn(sql, previous, isStale);
    } else if (isStale && !job.errors_only) await markStale(sql, column.id);
  }
  const version = await bumpCatalog(sql, [table.id, ...added.map(({ view }) => view.id)]);
  await rememberFailed(sql, version, table, { dropped, restored: altered }, cause);
}

/** The columns that get their previous expressions back. A recompute has none: it only puts values back. */
function alteredColumns(job: Job, table: CatalogTable | undefined): readonly CatalogColumn[] {
  const previous = new Map(job.undo.map((column) => [column.id, column]));
  return (table?.columns ?? []).filter(({ computed, id, state }) => {
    const before = previous.get(id);
    return state === "ready" && before !== undefined && !isDeepStrictEqual(before.computed, computed);
  });
}

/** Drops the indexes that were declared over another type, which their columns do not get. */
async function dropUnbuilt(sql: SqlConnection, table: CatalogTable, dropped: readonly CatalogColumn[]): Promise<void> {
  const retyped = shadowsOf(table).filter((one) => dropped.includes(one.shadow) && isRetyped(one));
  const names = new Set(retyped.map(({ column }) => column.name));
  for (const index of table.indexes) {
    if (index.state === "building" && columnsIn(index).some((name) => names.has(name)))
      await deleteIndex(sql, index.id);
  }
}

/** Drops columns with their indexes, and ends the jobs that would compute them. */
async function dropNewColumns(
  sql: SqlConnection,
  table: CatalogTable,
  dropped: readonly CatalogColumn[],
  error: JobError,
): Promise<void> {
  await dropColumns(sql, table, dropped);
  const reason: JobError = { ...error, detail: `A column that it reads was dropped. ${error.detail}` };
  await failOpenJobs(
    sql,
    dropped.map((column) => column.id),
    reason,
  );
  for (const column of dropped) await deleteColumn(sql, column.id);
  if (dropped.length > 0) await followDroppedColumns(sql, table.id);
}

/**
 * The columns of iterator views that only the dropped shadows of a base would have made. A column that a remaining one
 * reads stays, and so do hidden ones: other views have them.
 */
function addedToRows(
  tables: readonly CatalogTable[],
  base: CatalogTable,
  dropped: readonly CatalogColumn[],
): readonly { readonly view: CatalogTable; readonly columns: readonly CatalogColumn[] }[] {
  const makers = shadowsOf(base).filter(({ shadow }) => dropped.includes(shadow));
  return makers.flatMap(({ column, shadow }) => {
    const view = tables.find(({ folder, rows_of: made }) => {
      return folder === base.folder && made?.table === base.name && made.column === column.name;
    });
    if (view === undefined) return [];
    const [before, next] = [madeNames(column), madeNames(shadow)];
    const added = view.columns.filter(({ name, is_hidden: isHidden }) => {
      return next.has(name) && !before.has(name) && isHidden !== true;
    });
    const columns = withoutRead(view, added);
    return columns.length === 0 ? [] : [{ view, columns }];
  });
}

/** The names of the columns that an expression gives to the rows that it makes. */
function madeNames({ computed }: CatalogColumn): ReadonlySet<string> {
  const made = computed === null ? undefined : madeRowsIn(computed.expr);
  return new Set(made === undefined ? [] : [...made.outputs, ...made.computed].map(({ name }) => name));
}

/** The columns without those that other columns of the table read. */
function withoutRead(table: CatalogTable, columns: readonly CatalogColumn[]): readonly CatalogColumn[] {
  let found = columns;
  for (let before = -1; before !== found.length; ) {
    before = found.length;
    const staying = table.columns.filter((column) => !found.includes(column));
    const read = new Set(
      staying.flatMap(({ computed }) => (computed === null ? [] : referencedColumns(computed.expr))),
    );
    found = found.filter(({ name }) => !read.has(name));
  }
  return found;
}

async function hasBegun(sql: SqlConnection, job: Job): Promise<boolean> {
  const { rows } = await sql.query({ text: "select rows_done > 0 from appdb.jobs where id = $1", values: [job.id] });
  return rows[0]?.[0] === "t";
}

async function dropColumns(sql: SqlConnection, table: CatalogTable, dropped: readonly CatalogColumn[]): Promise<void> {
  const names = new Set(dropped.map((column) => column.name));
  for (const index of table.indexes.filter((candidate) => columnsIn(candidate).some((name) => names.has(name)))) {
    await sql.query({ text: dropIndex(table.folder, index.sql_name, { concurrently: false }) });
    await deleteIndex(sql, index.id);
  }
  for (const { name } of dropped) {
    for (const text of dropColumn(table, name)) await sql.query({ text });
  }
}

/** New columns with those that read them, and with the other new columns of the jobs that end without them. */
async function withLaterJobs(
  sql: SqlConnection,
  table: CatalogTable,
  columns: readonly CatalogColumn[],
): Promise<readonly CatalogColumn[]> {
  let found = withReaders(table, columns);
  for (let before = -1; before !== found.length; ) {
    before = found.length;
    const ids = new Set(
      await columnsOfOpenJobs(
        sql,
        found.map(({ id }) => id),
      ),
    );
    const isFound = (column: CatalogColumn) => found.includes(column);
    const isOfJob = ({ id, state }: CatalogColumn) => state === "filling" && ids.has(id);
    found = withReaders(
      table,
      table.columns.filter((column) => isFound(column) || isOfJob(column)),
    );
  }
  return found;
}

function withReaders(table: CatalogTable, columns: readonly CatalogColumn[]): readonly CatalogColumn[] {
  const names = new Set(columns.map((column) => column.name));
  let size: number;
  do {
    size = names.size;
    for (const { name, state, computed } of table.columns) {
      const reads = computed === null ? [] : referencedColumns(computed.expr);
      if (state === "filling" && reads.some((read) => names.has(read))) names.add(name);
    }
  } while (names.size > size);
  return table.columns.filter((column) => names.has(column.name));
}
