import { createHash } from "node:crypto";
import type { EmbeddingOptions } from "./catalog.ts";

/**
 * Names of a table's objects in PostgreSQL, where tables and indexes share one namespace. Table names cannot contain a
 * dot or a bracket, so these names never collide with a table.
 */
const LONGEST_SQL_NAME = 63;

/** The unique index of the user's key, named in unique violations. Absent for a table with a single uuid7() key
 *  column. */
export function keyIndexName(table: string): string {
  return fit(`${table}.key`);
}

/** The PostgreSQL primary key, over the identity column. For a table with a single uuid7() key column this is the
 *  key. */
export function identityIndexName(table: string): string {
  return fit(`${table}.pkey`);
}

/** Indexes the few rows with cell errors, so that counting them reads nothing else. */
export function errorsIndexName(table: string): string {
  return fit(`${table}.errors`);
}

/** A secondary index: `docs.idx.by_title` when named, `docs(title,body)` when not. A vector index is named after its
 *  content, `docs(_embedding_title).cosine`, so that it can coexist with the previous one. */
export function indexName(
  table: string,
  index: { name: string | null; columns: readonly string[]; embedding?: EmbeddingOptions | null },
): string {
  if (index.embedding != null) {
    const { values, metric, precision } = index.embedding;
    const own = index.name === null ? "" : `.${index.name}`;
    return fit(
      `${table}(${values ?? index.columns.join(",")})${own}.${values === null ? `${precision}.` : ""}${metric}`,
    );
  }
  return fit(index.name === null ? `${table}(${index.columns.join(",")})` : `${table}.idx.${index.name}`);
}

/** A hidden column of a view in its table: `cheap.label`, or `cheap.(rows)` for the one that says which rows the view
 *  has. No declared column has a dot in its name. */
export function viewColumnName(view: string, column: string | null): string {
  const name = fit(`${view}.${column ?? "(rows)"}`);
  // The name of a view can be too long for a dot after it.
  return name.includes(".") ? name : `.${name.slice(1)}`;
}

/** The hidden column of a base for an iterator view whose condition SQL cannot compute of any row. */
export function conditionColumn(iteratorView: string): string {
  return viewColumnName(iteratorView, "(if)");
}

/** The view whose rows a hidden column says or makes: `cheap` of `cheap.(rows)`, or of `cheap.(rows 1)` in a compute route
 *  (lower-made-routes.ts); undefined for any other column. */
export function viewOfRows(column: string): string | undefined {
  return /^(.+)\.\((?:rows|if|rows \d+)\)$/.exec(column)?.[1];
}

/** The columns of a job for people: the view, for the hidden columns that say or make its rows. */
export function shownNames(columns: readonly string[]): string[] {
  return [...new Set(columns.map((name) => viewOfRows(name) ?? name))];
}

/** A column of a table for people: `bread.name`, or `cheap.label` for a column of a view. */
export function columnPath(table: string, column: string): string {
  return column.includes(".") ? (viewOfRows(column) ?? column) : `${table}.${column}`;
}

/** The start of a sentence about a column: `Column bread.name`, or `View cheap` for the one that makes its rows. */
export function columnLabel(table: string, column: string): string {
  return `${viewOfRows(column) === undefined ? "Column" : "View"} ${columnPath(table, column)}`;
}

/** The hidden columns of a view in its table: that of its condition, which not every view has, and its own ones. */
export function ownColumns(view: {
  readonly name: string;
  readonly definition: { readonly columns: readonly { readonly name: string; readonly column: string }[] };
}): readonly string[] {
  const own = view.definition.columns.filter(({ name, column }) => column === viewColumnName(view.name, name));
  return [viewColumnName(view.name, null), ...own.map(({ column }) => column)];
}

/** The quoted table that keeps previous values while a job runs that may have to restore them. */
export function undoTable(jobId: string): string {
  return `appdb."undo ${jobId}"`;
}

/** PostgreSQL would silently truncate longer names, and two of them could become equal. */
function fit(name: string): string {
  if (Buffer.byteLength(name) <= LONGEST_SQL_NAME) return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, 12);
  return `${name.slice(0, LONGEST_SQL_NAME - digest.length - 1)}~${digest}`;
}
