import { createHash } from "node:crypto";
import { appError } from "@appdb/contract/errors";
import { nearestName } from "@appdb/contract/nearest";
import type { CatalogColumn } from "../catalog/catalog.ts";
import { keyExpression } from "../catalog/ddl.ts";
import { folderRefusal } from "../catalog/folder-refusal.ts";
import { explainCondition } from "../conditions/condition-sql.ts";
import { kindOf, UUID_TYPE } from "../kinds/kinds.ts";
import { parseUrlText, toSqlText } from "../kinds/values.ts";
import { ResultTooLarge, type SqlConnection, type SqlResult } from "../ports.ts";
import { quoteIdent } from "../sql/quote.ts";
import { ValueError } from "../values/value-error.ts";
import { type ReadableTable, rowsSql } from "../views/view-tables.ts";
import { invalidCursor, readQueryCursor, writeQueryCursor } from "./query-cursor.ts";
import { compileRows } from "./render-rows.ts";
import { behind, type RowOrder } from "./row-order.ts";

/** Maximum total size of a page's values; a page of long values has fewer rows. A single row is returned at any
 *  size. */
export const PAGE_BYTES = 16_000_000;

export interface ListRowsInput {
  /** Rows of the page. */
  readonly limit: number;
  /** `next` of the previous page; null for the first one. */
  readonly cursor: string | null;
  /** SQL of the condition of the rows; absent for all rows. */
  readonly where?: string | undefined;
  /** Absent: the newest first. */
  readonly order?: RowOrder | undefined;
  /** Default: `PAGE_BYTES`. */
  readonly page_bytes?: number | undefined;
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
 * Reads a page of a table's stored rows, newest first unless the input has an order. Identities grow with inserts, so
 * pages neither repeat nor miss a row during inserts.
 * @throws invalid_cursor for a cursor of another table, condition or order; invalid_request for a condition that cannot
 * be computed for a row
 */
export async function listRows(sql: SqlConnection, table: ReadableTable, input: ListRowsInput): Promise<ListedRows> {
  const { cursor, limit, order, page_bytes: pageBytes, where } = input;
  const about = where === undefined && order === undefined ? "" : ` ${digest(`${where ?? ""}\n${order?.text ?? ""}`)}`;
  const scope = `rows of ${table.id}${about}`;
  const after = cursor === null ? null : readKeys(scope, cursor, order === undefined ? 1 : 2);
  const columns = seenColumns(table);
  const found = await readPage(sql, table, columns, { after, limit, order, page_bytes: pageBytes, where }).catch(
    (error: unknown) => {
      throw explainCondition(table, error);
    },
  );
  const last = found.rows.at(-1);
  const isLast = last === undefined || !found.has_more;
  const keys = last?.slice(columns.length + 1) ?? [];
  return {
    rows: found.rows.map(rowWriter(table, columns)),
    next: isLast ? null : writeQueryCursor(scope, limit, { keys, returned: 0 }),
  };
}

/** The identity of the last row of the previous page, and with an order its value. @throws invalid_cursor */
function readKeys(scope: string, cursor: string, count: 1 | 2): readonly (string | null)[] {
  const keys = readQueryCursor(scope, cursor).after?.keys ?? [];
  const identity = keys[0] ?? "";
  if (keys.length !== count || parseUrlText(UUID_TYPE, identity) instanceof ValueError) throw invalidCursor();
  return keys;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 22);
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
      detail: `The key of ${path} is (${names.join(", ")}): ${names.length === 1 ? "1 value" : `${names.length} values`}, not ${key.length}.`,
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

/** Counts the rows of a table or view, or those of a condition in SQL. @throws invalid_request */
export async function countRows(sql: SqlConnection, table: ReadableTable, where?: string): Promise<number> {
  const text = `select count(*) from ${rowsSql(table)}${where === undefined ? "" : ` where ${where}`}`;
  const { rows } = await sql.query({ text }).catch((error: unknown) => {
    throw explainCondition(table, error);
  });
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
  { shown }: ReadableTable,
): string {
  if (errors === null) return row;
  const all: Record<string, unknown> = JSON.parse(errors);
  const cells = columns.flatMap(({ name }) => {
    const stored = shown?.stored_as.get(name) ?? name;
    return Object.hasOwn(all, stored) ? [[name, all[stored]] as const] : [];
  });
  return cells.length === 0 ? row : `${row.slice(0, -1)},"_errors":${JSON.stringify(Object.fromEntries(cells))}}`;
}

interface Page {
  readonly rows: SqlResult["rows"];
  readonly has_more: boolean;
}

interface PageInput extends Pick<ListRowsInput, "limit" | "order" | "page_bytes" | "where"> {
  /** The identity of the last row before the page, and its value that sorts. */
  readonly after: readonly (string | null)[] | null;
}

/** Requests one row more than the page has, and fewer when they are too large. */
async function readPage(
  sql: SqlConnection,
  table: ReadableTable,
  columns: readonly CatalogColumn[],
  { after, limit, order, page_bytes: pageBytes = PAGE_BYTES, where }: PageInput,
): Promise<Page> {
  const identity = quoteIdent(table.identity);
  const sorted = order === undefined ? [] : [order.value];
  const shown = [...columns.map(({ name }) => quoteIdent(name)), "_errors", identity, ...sorted].join(", ");
  const [afterIdentity = null, afterValue = null] = after ?? [];
  const parameters = { identity: "$2", value: "$3" };
  const older = order === undefined ? `${identity} < $2::uuid` : behind(order, identity, afterValue, parameters);
  const conditions = [...(where === undefined ? [] : [`(${where})`]), ...(after === null ? [] : [older])];
  const filter = conditions.length === 0 ? "" : ` where ${conditions.join(" and ")}`;
  const first = order === undefined ? "" : `${order.value} ${order.is_descending ? "desc" : "asc"} nulls last, `;
  const text = `select ${shown} from ${rowsSql(table)}${filter} order by ${first}${identity} desc limit $1::int`;
  const given = after === null ? [] : [afterIdentity, ...(order === undefined ? [] : [afterValue])];
  for (let size = limit; ; ) {
    const values = [size + 1, ...given];
    try {
      const { rows } = await sql.query({ text, values, ...(size === 1 ? {} : { max_bytes: pageBytes }) });
      return { rows: rows.slice(0, size), has_more: rows.length > size };
    } catch (error) {
      if (!(error instanceof ResultTooLarge)) throw error;
      // the row after the page has to fit too
      size = error.fitting_rows === undefined ? Math.ceil(size / 4) : Math.max(1, error.fitting_rows - 1);
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
  const refusal = folderRefusal(tables, tableName);
  if (refusal !== undefined) throw refusal;
  const names = tables.flatMap(({ folder, name }) => (folder === tableName.folder ? [name] : []));
  const nearest = nearestName(tableName.name, names);
  const near = nearest === undefined ? undefined : tableName.text.replace(/[^/]*$/, nearest);
  const others = names.length === 0 ? "Create it first: cli schema update <file> <target>" : listed(names);
  throw appError("table_not_found", {
    detail: `Table ${tableName.text} does not exist.`,
    hint: near === undefined ? others : `Did you mean ${near}?`,
    meta: { table: tableName.text },
  });
}

/** Names of a hint; those of a large database would fill the screen. */
const MOST_LISTED = 20;

function listed(names: readonly string[]): string {
  const more = names.length > MOST_LISTED ? `, and ${names.length - MOST_LISTED} more` : "";
  return `There are the tables and views ${names.slice(0, MOST_LISTED).join(", ")}${more}.`;
}
