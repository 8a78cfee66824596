import type { ManifestColumn, ManifestTable } from "@appdb/contract/manifest";
import type { ColumnType } from "@appdb/contract/types";
import { compileSql, ROW_COLUMNS } from "../expressions/compile-sql.ts";
import { vectorType } from "../kinds/array.ts";
import { kindOf } from "../kinds/kinds.ts";
import { castToStorage, storageCollation, storageType } from "../kinds/storage-type.ts";
import { VALUE } from "../kinds/type-change.ts";
import { quoteIdent, quoteLiteral, quoteTable, storableText } from "../sql/quote.ts";
import type { EmbeddingOptions } from "./catalog.ts";
import type { PlannedIndex } from "./operations.ts";
import { errorsIndexName, identityIndexName, indexName, keyIndexName } from "./sql-names.ts";

/** Builders of the DDL of tables. Pure: they return SQL text and need no server. */

interface TableName {
  readonly folder: string;
  readonly name: string;
}

/** The column with a row's cell errors, next to the identity `_row` of a table without a uuid7() key. */
const ERRORS_COLUMN = "_errors";

/** Indexed prefix of a text. A B-tree entry holds 2,704 bytes and a character up to four. The query compiler
 *  rechecks. */
const INDEXED_CHARACTERS = 600;

export function createFolder(folder: string): string {
  return `create schema if not exists ${quoteIdent(folder)}`;
}

export function dropFolder(folder: string): string {
  return `drop schema if exists ${quoteIdent(folder)}`;
}

export function renameFolder(from: string, to: string): string {
  return `alter schema ${quoteIdent(from)} rename to ${quoteIdent(to)}`;
}

/** Moves a table with its indexes to another folder. */
export function moveTable(table: TableName, folder: string): string {
  return `alter table ${quoteTable(table)} set schema ${quoteIdent(folder)}`;
}

/** A table with its identity, key, columns, comments and indexes. */
export function createTable(
  folder: string,
  to: ManifestTable,
  identity: string,
  indexes: readonly PlannedIndex[],
): readonly string[] {
  const table = { folder, name: to.name };
  const pkey = quoteIdent(identityIndexName(to.name));
  const columns = [
    ...(identity === "_row" ? [`${quoteIdent("_row")} uuid not null`] : []),
    ...to.columns.map((column) => columnDefinition(column)),
    `${quoteIdent(ERRORS_COLUMN)} jsonb`,
    `constraint ${pkey} primary key (${quoteIdent(identity)})`,
  ];
  return [
    `create table ${quoteTable(table)} (\n  ${columns.join(",\n  ")}\n)`,
    ...(to.primary_key.length === 0 || identity !== "_row" ? [] : [createKeyIndex(table, to)]),
    `create index ${quoteIdent(errorsIndexName(to.name))} on ${quoteTable(table)} (${quoteIdent(identity)}) where ${ERRORS_COLUMN} is not null`,
    ...indexes.map((index) => createIndex(table, index, to.columns, { concurrently: false })),
    ...(to.comment === null ? [] : [commentOnTable(table, to.comment)]),
    ...to.columns.flatMap(({ name, comment }) => (comment === null ? [] : [commentOnColumn(table, name, comment)])),
  ];
}

/** Stored non-nullable columns and key columns are NOT NULL. Other computed columns are nullable in PostgreSQL,
 *  whatever their type says, because a failed cell has no value. */
function isNotNull(column: Omit<ManifestColumn, "source">): boolean {
  return column.primary_key || (column.computed === null && !column.nullable);
}

function columnDefinition(column: Omit<ManifestColumn, "source">): string {
  const defaultClause = column.default == null ? "" : ` default ${defaultSql(column.default, column.type)}`;
  const notNull = isNotNull(column) ? " not null" : "";
  return `${quoteIdent(column.name)} ${storageType(column.type)}${storageCollation(column.type)}${defaultClause}${notNull}`;
}

/** PostgreSQL's own default fills existing rows when the column is added, and rows of services started earlier. The
 *  engine sets the value of every other row. */
function defaultSql({ expr }: NonNullable<ManifestColumn["default"]>, type: ColumnType): string {
  const sql = compileSql(expr, ROW_COLUMNS);
  if (sql === undefined) throw new TypeError("A default must be a constant or a generator, which all have SQL.");
  return `(${castToStorage(sql, type)})`;
}

/** Sets or drops the default of a stored column. */
export function alterDefault(table: TableName, { name, type, default: defaultValue }: ManifestColumn): string {
  const how = defaultValue == null ? "drop default" : `set default ${defaultSql(defaultValue, type)}`;
  return `alter table ${quoteTable(table)} alter column ${quoteIdent(name)} ${how}`;
}

/** Drops a default, which may not match the column's new type. */
export function dropDefault(table: TableName, name: string): string {
  return `alter table ${quoteTable(table)} alter column ${quoteIdent(name)} drop default`;
}

/** The unique index of the user's key, over whole values. Texts use their hash, because a B-tree entry has a maximum
 *  size. */
function createKeyIndex(table: TableName, to: ManifestTable): string {
  const types = new Map(to.columns.map((column) => [column.name, column.type]));
  const parts = to.primary_key.map((name) => `(${keyExpression(quoteIdent(name), types.get(name))})`);
  return `create unique index ${quoteIdent(keyIndexName(to.name))} on ${quoteTable(table)} (${parts.join(", ")})`;
}

/**
 * The expression that makes a key column unique, as SQL over `value` (a quoted column, or a parameter of its type). A
 * lookup must use the same expression for the index to apply. It is the sha256 of a text's UTF-8 bytes. convert_to() is
 * not immutable and cannot be in an index. A cast of the text with doubled backslashes gives the same bytes and can.
 */
export function keyExpression(value: string, type: ColumnType | undefined): string {
  return type === undefined ? value : kindOf(type).key(value);
}

/** Whether an index only holds a prefix of a column's values. */
export function isText(type: ColumnType | undefined): boolean {
  return type !== undefined && kindOf(type).index === "prefix";
}

/** Number of text columns in an index. With more of them, the prefix of each is shorter. */
export function countTexts(columns: readonly string[], types: ReadonlyMap<string, ColumnType>): number {
  return columns.filter((name) => isText(types.get(name))).length;
}

/** A secondary B-tree. CONCURRENTLY is for tables with rows and cannot run in a transaction. */
export function createIndex(
  table: TableName,
  index: PlannedIndex,
  columns: readonly { readonly name: string; readonly type: ColumnType }[],
  options: { readonly concurrently: boolean },
): string {
  const how = options.concurrently ? "index concurrently" : "index";
  const head = `create ${how} ${quoteIdent(indexName(table.name, index))} on ${quoteTable(table)}`;
  if (index.embedding != null) return `${head} ${overVectors(index, index.embedding)}`;
  const types = new Map(columns.map((column) => [column.name, column.type]));
  const texts = countTexts(index.columns, types);
  const parts = index.columns.map((name) =>
    isText(types.get(name)) ? indexedPrefix(quoteIdent(name), texts) : quoteIdent(name),
  );
  return `${head} (${parts.join(", ")})`;
}

/** pgvector's defaults, written out so that another version of it makes the same index. */
const GRAPH = "m = 16, ef_construction = 64";

function overVectors(index: PlannedIndex, { metric, precision }: EmbeddingOptions): string {
  const type = precision === "fp16" ? "halfvec" : "vector";
  return `using hnsw ((${vectorOf(index, "")}) appdb.${type}_${metric}_ops) with (${GRAPH})`;
}

/** SQL of a row's vector in an embedding index. A query must use the same expression. `table` is quoted and ends in
 *  a dot, or is empty. */
export function vectorOf({ columns, embedding }: PlannedIndex, table: string): string {
  if (embedding == null) throw new TypeError("The index holds no vectors.");
  const { values, precision, dimensions } = embedding;
  const name = `${table}${quoteIdent(values ?? columns[0] ?? "")}`;
  return values === null ? `${name}::${vectorType(precision, dimensions)}` : name;
}

/** The prefix of a text in a B-tree with `texts` text columns. A query must use the same expression. */
export function indexedPrefix(value: string, texts: number): string {
  return `left(${value}, ${Math.floor(INDEXED_CHARACTERS / texts)})`;
}

export function dropIndex(folder: string, sqlName: string, options: { readonly concurrently: boolean }): string {
  return `drop index ${options.concurrently ? "concurrently " : ""}if exists ${quoteIdent(folder)}.${quoteIdent(sqlName)}`;
}

/** A computed column is added as nullable and filled later. */
export function addColumn(table: TableName, column: Omit<ManifestColumn, "source">): readonly string[] {
  return [
    `alter table ${quoteTable(table)} add column ${columnDefinition(column)}`,
    ...(column.comment === null ? [] : [commentOnColumn(table, column.name, column.comment)]),
  ];
}

/** Drops a column with its cell errors. A later column of that name must not inherit them. */
export function dropColumn(table: TableName, name: string): readonly string[] {
  return [`alter table ${quoteTable(table)} drop column ${quoteIdent(name)}`, forgetErrors(table, name)];
}

/** Drops a column without cell errors, if there is one. */
export function dropShadow(table: TableName, name: string): string {
  return `alter table ${quoteTable(table)} drop column if exists ${quoteIdent(name)}`;
}

/** Drops a column, and gives its name to another one. */
export function replaceColumn(table: TableName, from: string, to: string): readonly string[] {
  const alter = `alter table ${quoteTable(table)}`;
  const [previous, next] = [quoteIdent(to), quoteIdent(from)];
  return [`${alter} drop column ${previous}`, `${alter} rename column ${next} to ${previous}`];
}

/** Removes a column's cell errors from all rows. */
export function forgetErrors(table: TableName, name: string): string {
  const key = quoteLiteral(name);
  return `update ${quoteTable(table)} set ${ERRORS_COLUMN} = nullif(${ERRORS_COLUMN} - ${key}, '{}') where ${ERRORS_COLUMN} ? ${key}`;
}

/** Converts a stored column by `using`, an expression over `$value`. Rewrites the table. */
export function alterType(table: TableName, column: ManifestColumn, using: string): string {
  const name = quoteIdent(column.name);
  const type = storageType(column.type);
  return `alter table ${quoteTable(table)} alter column ${name} type ${type} using ${using.replaceAll(VALUE, () => name)}`;
}

/** Nothing for computed columns, which are always nullable in PostgreSQL. */
export function alterNullability(table: TableName, column: ManifestColumn): readonly string[] {
  if (column.computed !== null || column.primary_key) return [];
  const how = column.nullable ? "drop" : "set";
  return [`alter table ${quoteTable(table)} alter column ${quoteIdent(column.name)} ${how} not null`];
}

export function commentOnTable(table: TableName, comment: string | null): string {
  return `comment on table ${quoteTable(table)} is ${commentLiteral(comment)}`;
}

export function commentOnColumn(table: TableName, name: string, comment: string | null): string {
  return `comment on column ${quoteTable(table)}.${quoteIdent(name)} is ${commentLiteral(comment)}`;
}

function commentLiteral(comment: string | null): string {
  return comment === null ? "null" : quoteLiteral(storableText(comment));
}
