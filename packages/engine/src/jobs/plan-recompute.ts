import { appError } from "@appdb/contract/errors";
import type { OnError } from "@appdb/contract/jobs";
import { nearestName } from "@appdb/contract/nearest";
import type { Catalog, CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { insertJob } from "../catalog/catalog-store.ts";
import { folderRefusal } from "../catalog/folder-refusal.ts";
import { shownColumn } from "../catalog/hidden-columns.ts";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { isShadow } from "../catalog/shadow-columns.ts";
import { columnLabel, ownColumns, shownNames } from "../catalog/sql-names.ts";
import { layOutRow } from "../compute/row-layout.ts";
import { referencedColumns } from "../expressions/needs-python.ts";
import type { SqlConnection } from "../ports.ts";
import { countRows } from "./fills/fill-statement.ts";

export interface RecomputeSelection {
  /** PostgreSQL schema of the target (`folderSchema`) and name of the table. */
  readonly folder: string;
  readonly table: string;
  /** The complete path of the table, for errors. */
  readonly path?: string;
  /** Computed columns; empty for all of the table. */
  readonly columns: readonly string[];
  /** Includes the columns that read them, directly or not. */
  readonly cascade: boolean;
  readonly on_error: OnError;
  /** Only rows with an error in a cell of the computed columns. */
  readonly errors_only: boolean;
  /** The runtime of the functions; undefined: that of the table's last update. */
  readonly runtime_id?: string | undefined;
}

export interface PlannedRecompute {
  readonly table: CatalogTable;
  readonly columns: readonly CatalogColumn[];
  /** Columns that are recomputed because they read those. */
  readonly cascade: readonly CatalogColumn[];
  /** Views whose columns are hidden ones of the table. */
  readonly views: readonly string[];
}

/**
 * Finds the columns of a request. "All columns" excludes generated keys and ids. It excludes vectors of an index unless
 * their source is recomputed.
 * @throws table_not_found, column_not_found; invalid_request for a column that is not computed, is the key or is being
 * filled
 */
export function planRecompute(catalog: Catalog, asked: RecomputeSelection): PlannedRecompute {
  const request = withoutIterator(catalog, withoutView(catalog, asked));
  const table = catalog.tables.find(
    (candidate) => candidate.folder === request.folder && candidate.name === request.table,
  );
  if (table === undefined) throw noTable(catalog, request);
  const computable = new Set(layOutRow(table).computed);
  const mayRun = (column: CatalogColumn) =>
    computable.has(column.name) && !column.primary_key && column.state === "ready";
  const columns =
    request.columns.length === 0
      ? table.columns.filter((column) => mayRun(column) && column.is_hidden !== true)
      : [...new Set(request.columns)].map((name) => {
          const column = table.columns.find((candidate) => candidate.name === name);
          if (column === undefined) throw noColumn(table, name);
          if (!mayRun(column)) throw notComputable(table, column, computable);
          return column;
        });
  if (columns.length === 0) refuseFilling(table, request.path);
  const readers = request.cascade ? readersOf(table, columns).filter(mayRun) : [];
  return { table, columns, cascade: readers, views: viewsOver(catalog, table) };
}

/** The views with columns that are computed for the rows of a table. */
function viewsOver({ tables, views }: Catalog, { id, folder, name, columns }: CatalogTable): readonly string[] {
  const isHere = (column: string): boolean => columns.some((one) => one.name === column);
  const filtered = views.filter((view) => view.table_id === id && ownColumns(view).some(isHere));
  const made = tables.filter((view) => view.folder === folder && view.rows_of?.table === name);
  return [...filtered, ...made].map((view) => view.name).sort();
}

/**
 * A request for an iterator view, as one for the column of its base that makes its rows, if all or some of the columns
 * are made with the rows.
 */
function withoutIterator(catalog: Catalog, request: RecomputeSelection): RecomputeSelection {
  const view = catalog.tables.find(({ folder, name }) => folder === request.folder && name === request.table);
  if (view?.rows_of == null) return request;
  const isOwn = (name: string) => view.columns.some((column) => column.name === name && column.computed !== null);
  const isKnown = (name: string) => view.columns.some((column) => column.name === name);
  const { columns } = request;
  if (columns.length > 0 && (columns.every(isOwn) || !columns.every(isKnown))) return request;
  return { ...request, table: view.rows_of.table, columns: [view.rows_of.column] };
}

/** A request for columns of a view, as one for the hidden columns of its table. */
function withoutView(catalog: Catalog, request: RecomputeSelection): RecomputeSelection {
  const view = catalog.views.find(({ folder, name }) => folder === request.folder && name === request.table);
  const table = catalog.tables.find(({ id }) => id === view?.table_id);
  if (view === undefined || table === undefined) return request;
  const places = new Map(view.definition.columns.map(({ name, column }) => [name, column]));
  const own = ownColumns(view).filter((name) => table.columns.some((column) => column.name === name));
  const columns = request.columns.length === 0 ? own : request.columns.map((name) => places.get(name) ?? name);
  return { ...request, table: table.name, columns };
}

/** Counts the rows that a recompute would visit. */
export async function countRecompute(
  sql: SqlConnection,
  { table, columns, cascade }: PlannedRecompute,
  errorsOnly: boolean,
): Promise<number> {
  if (columns.length === 0) return 0;
  const names = [...columns, ...cascade].map((column) => column.name);
  const { rows } = await sql.query({ text: countRows(table, errorsOnly ? { kind: "errors", columns: names } : null) });
  return Number(rows[0]?.[0]);
}

/**
 * Queues a recompute in the caller's transaction and returns its job; `undefined` when no column needs computing. Use
 * `watchJobs` to wait for it. With `abort` a failed cell undoes everything; with `ignore` the cell becomes null with
 * its error.
 * @throws any error of planRecompute
 */
export async function startRecompute(
  sql: SqlConnection,
  request: RecomputeSelection,
): Promise<{ readonly job: string | undefined; readonly plan: PlannedRecompute }> {
  const plan = planRecompute(await loadCatalog(sql), request);
  const columns = [...plan.columns, ...plan.cascade];
  if (columns.length === 0) return { job: undefined, plan };
  const job = await insertJob(sql, {
    kind: "recompute",
    table_id: plan.table.id,
    table_name: plan.table.name,
    column_ids: columns.map((column) => column.id),
    column_names: columns.map((column) => column.name),
    index_id: null,
    undo: [],
    runtime_id: request.runtime_id ?? null,
    on_error: request.on_error,
    errors_only: request.errors_only,
  });
  return { job, plan };
}

function readersOf(table: CatalogTable, columns: readonly CatalogColumn[]): readonly CatalogColumn[] {
  const own = new Set(columns.map((column) => column.name));
  const found = new Set(own);
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const { name, computed } of table.columns) {
      if (computed !== null && referencedColumns(computed.expr).some((read) => found.has(read))) found.add(name);
    }
  }
  return table.columns.filter((column) => found.has(column.name) && !own.has(column.name));
}

/** A table without other computed columns has nothing to recompute until these are filled. @throws invalid_request */
function refuseFilling(table: CatalogTable, path: string | undefined): void {
  const filling = table.columns.filter((column) => column.state === "filling" && !isShadow(column));
  const [first] = filling;
  if (first === undefined) return;
  const names = shownNames(filling.map(({ name }) => shownColumn(table, name)));
  const which = names.length === 1 ? `The column ${names[0]}` : `The columns ${names.join(", ")}`;
  throw appError("invalid_request", {
    detail: `${which} of ${path ?? table.name} ${names.length === 1 ? "is" : "are"} still computed for the first time. Nothing was recomputed.`,
    hint: `Wait for its job: cli jobs list ${path ?? "<target>"}`,
    meta: { table: table.name, column: first.name },
  });
}

function noTable(catalog: Catalog, request: RecomputeSelection): Error {
  const { folder, path: text, table: name } = request;
  const refusal = text === undefined ? undefined : folderRefusal(catalog.tables, { folder, name, text });
  if (refusal !== undefined) return refusal;
  const names = catalog.tables.filter((table) => table.folder === request.folder).map((table) => table.name);
  const suggestion = nearestName(request.table, names);
  return appError("table_not_found", {
    detail: `Table ${request.table} does not exist; ${names.length === 0 ? "the target has no tables" : `the tables are: ${names.join(", ")}`}.`,
    hint:
      suggestion === undefined
        ? "Create the tables first: cli schema update <file> <target>"
        : `Did you mean ${suggestion}?`,
    meta: { table: request.table },
  });
}

function noColumn(table: CatalogTable, name: string): Error {
  const names = table.columns.flatMap((column) => (column.is_hidden === true ? [] : [column.name]));
  const suggestion = nearestName(name, names);
  return appError("column_not_found", {
    detail: `${table.rows_of == null ? "Table" : "View"} ${table.name} has no column ${name}.`,
    hint:
      suggestion === undefined
        ? `Its stored columns: ${names.join(", ")}. A column with stored=False is computed when it is read.`
        : `Did you mean ${suggestion}?`,
    meta: { table: table.name, column: name },
  });
}

function notComputableReason(column: CatalogColumn, computable: ReadonlySet<string>): string {
  if (column.computed === null) return "is not computed";
  if (column.primary_key) return "is the key";
  return computable.has(column.name) ? "is being filled by an update" : "is made with its row";
}

function notComputable(table: CatalogTable, column: CatalogColumn, computable: ReadonlySet<string>): Error {
  return appError("invalid_request", {
    detail: `${columnLabel(table.name, column.name)} ${notComputableReason(column, computable)} and cannot be recomputed.`,
    hint: "Name a computed column, or omit the column to recompute all.",
    meta: { table: table.name, column: column.name },
  });
}
