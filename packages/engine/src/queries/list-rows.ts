import { appError } from "@appdb/contract/errors";
import type { CatalogColumn } from "../catalog/catalog.ts";
import { keyExpression } from "../catalog/ddl.ts";
import { kindOf, UUID_TYPE } from "../kinds/kinds.ts";
import { parseUrlText, toSqlText } from "../kinds/values.ts";
import { ResultTooLarge, type SqlConnection, type SqlResult } from "../ports.ts";
import { quoteIdent } from "../sql/quote.ts";
import { ValueError } from "../values/value-error.ts";
import { type ReadableTable, rowsSql } from "../views/view-tables.ts";
import { invalidCursor, readQueryCursor, writeQueryCursor } from "./query-cursor.ts";
import { compileRows } from "./render-rows.ts";

/** Maximum total size of a page's values; a page of long values has fewer rows. A single row is returned at any
 *  size. */
const PAGE_BYTES = 16_000_000;

export interface ListRowsInput {
  /** Rows of the page. */
  readonly limit: number;
  /** `next` of the previous page; null for the first one. */
  readonly cursor: string | null;
}

export interface ListedRows {
  /** JSON objects as in route responses, with `_errors` where a cell has a reason instead of a value. */
  readonly rows: readonly string[];
  readonly next: string | null;
}

/** The visible columns of a table: filled ones, without vectors of indexes. */
export function seenColumns(table: ReadableTable): readonly CatalogColumn[] {
  return table.columns.filter(({ state, is_hidden: isHidden }) => state === "ready" && isHidden !== true);
}

/**
 * Reads a page of a table's stored rows, newest first. Identities grow with inserts, so pages neither repeat nor miss a
 * row during inserts.
 * @throws invalid_cursor for a cursor of another table
 */
export async function listRows(sql: SqlConnection, table: ReadableTable, input: ListRowsInput): Promise<ListedRows> {
  const scope = `rows of ${table.id}`;
  const after = input.cursor === null ? null : readIdentity(scope, input.cursor);
  const columns = seenColumns(table);
  const found = await readPage(sql, table, columns, after, input.limit);
  const last = found.rows.at(-1)?.[columns.length + 1];
  const isLast = last === undefined || !found.has_more;
  return {
    rows: found.rows.map(rowWriter(table, columns)),
    next: isLast ? null : writeQueryCursor(scope, input.limit, { keys: [last], returned: 0 }),
  };
}

/** The identity of the last row of the previous page. @throws invalid_cursor */
function readIdentity(scope: string, cursor: string): string {
  const [key, ...more] = readQueryCursor(scope, cursor).after?.keys ?? [];
  if (key == null || more.length > 0 || parseUrlText(UUID_TYPE, key) instanceof ValueError) throw invalidCursor();
  return key;
}

/**
 * The row with a key, as `listRows` has it. `key`: the texts of its values, in the
 * order of the key. `text`: the table's complete path.
 * @throws row_not_found; invalid_request for a table without a key, and for values that the key cannot have
 */
export async function findRow(
  sql: SqlConnection,
  table: ReadableTable,
  { key, text: path }: { readonly key: readonly string[]; readonly text: string },
): Promise<string> {
  const names = table.primary_key;
  const meta = { table: table.name, columns: names };
  if (names.length === 0) {
    throw appError("invalid_request", {
      detail: `${path} has no primary key, so no key names one of its rows.`,
      hint: `List its rows: cli rows ${path}`,
      meta,
    });
  }
  if (names.length !== key.length) {
    throw appError("invalid_request", {
      detail: `The key of ${path} is (${names.join(", ")}): ${names.length} values, not ${key.length}.`,
      hint: "Give a value for each column of the key, in this order.",
      meta,
    });
  }
  const conditions: string[] = [];
  const values: string[] = [];
  for (const [at, name] of names.entries()) {
    const column = table.columns.find((one) => one.name === name);
    if (column === undefined) throw new TypeError(`${table.name} has no column ${name}.`);
    const value = parseUrlText(column.type, key[at] ?? "");
    if (value instanceof ValueError || value === null) {
      throw appError("invalid_request", {
        detail: `${name}: ${value?.detail ?? "Expected a value."}`,
        hint: `Give ${name} of an existing row.`,
        meta,
      });
    }
    values.push(toSqlText(column.type, value));
    const parameter = `$${at + 1}::${kindOf(column.type).storage(column.type)}`;
    conditions.push(`${keyExpression(quoteIdent(name), column.type)} = ${keyExpression(parameter, column.type)}`);
  }
  const columns = seenColumns(table);
  const shown = [...columns.map(({ name }) => quoteIdent(name)), "_errors"].join(", ");
  const text = `select ${shown} from ${rowsSql(table)} where ${conditions.join(" and ")} limit 1`;
  const { rows } = await sql.query({ text, values });
  const [row] = rows.map(rowWriter(table, columns));
  if (row !== undefined) return row;
  throw appError("row_not_found", {
    detail: `${path} has no row with (${names.join(", ")}) = (${key.join(", ")}).`,
    hint: `List its rows: cli rows ${path}`,
    meta,
  });
}

/** Counts the rows of a table or view. */
export async function countRows(sql: SqlConnection, table: ReadableTable): Promise<number> {
  const { rows } = await sql.query({ text: `select count(*) from ${rowsSql(table)}` });
  return Number(rows[0]?.[0]);
}

/** Writes rows as JSON: texts of the columns, then the cell errors. */
function rowWriter(table: ReadableTable, columns: readonly CatalogColumn[]): (row: Page["rows"][number]) => string {
  const outputs = columns.map(({ name, type, nullable }, at) => ({ name, type, nullable, from: { sql: at } }));
  const render = compileRows({ outputs }, false);
  return (row) => withErrors(render(row), row[columns.length] ?? null, columns, table);
}

/** No column can be named `_errors`. Errors of index vectors are omitted with their columns. */
function withErrors(
  row: string,
  errors: string | null,
  columns: readonly CatalogColumn[],
  { view }: ReadableTable,
): string {
  if (errors === null) return row;
  const all: Record<string, unknown> = JSON.parse(errors);
  const shown = columns.flatMap(({ name }) => {
    const stored = view?.stored_as.get(name) ?? name;
    return Object.hasOwn(all, stored) ? [[name, all[stored]] as const] : [];
  });
  return shown.length === 0 ? row : `${row.slice(0, -1)},"_errors":${JSON.stringify(Object.fromEntries(shown))}}`;
}

interface Page {
  readonly rows: SqlResult["rows"];
  readonly has_more: boolean;
}

/** Requests one row more than the page has, and fewer when they are too large. */
async function readPage(
  sql: SqlConnection,
  table: ReadableTable,
  columns: readonly CatalogColumn[],
  after: string | null,
  limit: number,
): Promise<Page> {
  const identity = quoteIdent(table.identity);
  const shown = [...columns.map(({ name }) => quoteIdent(name)), "_errors", identity].join(", ");
  const behind = after === null ? "" : ` where ${identity} < $2::uuid`;
  const text = `select ${shown} from ${rowsSql(table)}${behind} order by ${identity} desc limit $1::int`;
  for (let size = limit; ; size = Math.ceil(size / 4)) {
    const values = after === null ? [size + 1] : [size + 1, after];
    try {
      const { rows } = await sql.query({ text, values, ...(size === 1 ? {} : { max_bytes: PAGE_BYTES }) });
      return { rows: rows.slice(0, size), has_more: rows.length > size };
    } catch (error) {
      if (!(error instanceof ResultTooLarge)) throw error;
    }
  }
}

/** @throws table_not_found with the nearest name */
export function findTable(
  tables: readonly ReadableTable[],
  tableName: { readonly folder: string; readonly name: string; readonly text: string },
): ReadableTable {
  const table = tables.find(({ folder, name }) => folder === tableName.folder && name === tableName.name);
  if (table !== undefined) return table;
  throw appError("table_not_found", {
    detail: `Table ${tableName.text} does not exist.`,
    hint: "Create it first: cli schema update <file> <target>",
    meta: { table: tableName.text },
  });
}
