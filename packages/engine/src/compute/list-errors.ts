import type { CellErrorRecord, TableErrors } from "@appdb/contract/jobs";
import { shownFunctionName } from "@appdb/contract/program-code";
import type { CatalogTable } from "../catalog/catalog.ts";
import { shownColumn } from "../catalog/hidden-columns.ts";
import { viewOfRows } from "../catalog/sql-names.ts";
import { madeRowsIn } from "../expressions/made-rows.ts";
import { fromSqlText, valueToJson } from "../kinds/values.ts";
import { type SqlConnection, SqlError } from "../ports.ts";
import { quoteIdent, quoteLiteral, quoteTable } from "../sql/quote.ts";
import { type RowKey, rowKey } from "../views/row-keys.ts";
import type { CellError } from "./cell-errors.ts";

/** SQL of a row with a failed cell. One that waits for its value is not failed. */
function isFailing(table: CatalogTable): string {
  return `"t"._errors is not null and ${ownErrorsSql(table)} @? '$.* ? (@.type() == "object")'`;
}

/** SQL of a row's errors, without those that its cells share with the rows that they have made: views have these. */
function ownErrorsSql({ columns }: CatalogTable): string {
  const makers = columns.filter(({ computed }) => computed !== null && madeRowsIn(computed.expr) !== undefined);
  if (makers.length === 0) return '"t"._errors';
  const shared = makers.map(
    ({ name }) => `case when "t".${quoteIdent(name)} is not null then ${quoteLiteral(name)} end`,
  );
  return `("t"._errors - array_remove(array[${shared.join(", ")}]::text[], null))`;
}

/** Number of failed cells of each column, by table id. Tables and columns without any are omitted. */
export async function countErrors(
  sql: SqlConnection,
  tables: readonly CatalogTable[],
): Promise<ReadonlyMap<number, Readonly<Record<string, number>>>> {
  const counted = new Map<number, Record<string, number>>();
  const computing = tables.filter((table) => table.columns.some((column) => column.computed !== null));
  let rows: readonly (readonly (string | null)[])[];
  try {
    rows = await countIn(sql, await tablesWithErrors(sql, computing));
  } catch (error) {
    // A table was dropped with psql; the others are still counted.
    if (!(error instanceof SqlError && ["42P01", "42703"].includes(error.sqlstate))) throw error;
    if (tables.length === 1) return counted;
    const single = await Promise.all(computing.map((table) => countErrors(sql, [table])));
    return new Map(single.flatMap((of) => [...of]));
  }
  const byId = new Map(tables.map((table) => [table.id, table]));
  for (const [id, column, count] of rows) {
    const of = counted.get(Number(id)) ?? {};
    const table = byId.get(Number(id));
    const name = table === undefined ? "" : shownColumn(table, column ?? "");
    of[name] = (of[name] ?? 0) + Number(count);
    counted.set(Number(id), of);
  }
  return counted;
}

/** The column, and those with the vectors of indexes over it. */
function namesOf(table: CatalogTable, column: string): readonly string[] {
  const hidden = table.indexes.filter(({ columns }) => columns.includes(column));
  return [column, ...hidden.flatMap(({ embedding }) => embedding?.values ?? [])];
}

/**
 * Finds tables with errors. Most have none. The index answers that at once, while a count starts parallel workers for 6
 * ms. The query asks for the first row in index order: `exists` would scan a table that is not analysed yet.
 */
async function tablesWithErrors(sql: SqlConnection, tables: readonly CatalogTable[]): Promise<readonly CatalogTable[]> {
  if (tables.length === 0) return [];
  const parts = tables.map((table) => `select ${table.id}::text where (${firstWithErrors(table)}) is not null`);
  const { rows } = await sql.query({ text: parts.join(" union all ") });
  const found = new Set(rows.map(([id]) => Number(id)));
  return tables.filter((table) => found.has(table.id));
}

function firstWithErrors(table: CatalogTable): string {
  const id = quoteIdent(table.identity);
  return `select ${id} from ${quoteTable(table)} where _errors is not null order by ${id} limit 1`;
}

async function countIn(
  sql: SqlConnection,
  tables: readonly CatalogTable[],
): Promise<readonly (readonly (string | null)[])[]> {
  if (tables.length === 0) return [];
  const parts = tables.map(
    (
      table,
    ) => `select ${table.id}::text, e.key, count(*) from ${quoteTable(table)} t, jsonb_each(${ownErrorsSql(table)}) e
      where t._errors is not null and e.value <> '"pending"' group by e.key`,
  );
  return (await sql.query({ text: parts.join(" union all ") })).rows;
}

/** The first failed cells of a table in insertion order, or of some columns, and their number per column. Errors of an embedding index
 *  count for the column under it. */
export async function listErrors(
  sql: SqlConnection,
  table: CatalogTable,
  input: {
    readonly path: string;
    readonly columns: readonly string[] | null;
    readonly limit: number;
    /** The other tables of the database: the rows of an iterator view have the key of the row that makes them. */
    readonly tables: readonly CatalogTable[];
  },
): Promise<TableErrors> {
  const key = rowKey(table, input.tables, "t");
  const own = ownErrorsSql(table);
  const names = input.columns === null ? null : input.columns.flatMap((column) => namesOf(table, column));
  const ofColumn = names === null ? "" : ` and ${own} ?| array[${names.map(quoteLiteral).join(", ")}]::text[]`;
  const failing = `where ${isFailing(table)}${ofColumn}`;
  const [counts, total, found] = await Promise.all([
    countErrors(sql, [table]),
    sql.query({ text: `select count(*) from ${quoteTable(table)} as "t" ${failing}` }),
    sql.query({
      text: `select ${[own, ...key.values].join(", ")} from ${quoteTable(table)} as "t" ${failing}
        order by "t".${quoteIdent(table.identity)} limit $1::int`,
      values: [input.limit],
    }),
  ]);
  const errors = found.rows.flatMap(([text, ...values]): CellErrorRecord[] => {
    const named = key.columns.map((column, at) => {
      const value = values[at] ?? null;
      return [column.name, value === null ? null : plainJson(column, value)];
    });
    return cellsOf(text ?? "{}", names).map((cell) => {
      const { column, cause } = cell;
      return {
        ...cell,
        key: Object.fromEntries(named),
        column: shownCell(table, column),
        cause: cause === null ? null : shownCell(table, cause),
      };
    });
  });
  return {
    table: input.path,
    rows: Number(total.rows[0]?.[0]),
    counts: Object.fromEntries(
      Object.entries(counts.get(table.id) ?? {}).flatMap(([name, cells]) =>
        names === null || input.columns?.includes(name) ? [[shownCell(table, name), cells]] : [],
      ),
    ),
    errors: errors.slice(0, input.limit),
  };
}

/** The column of a failed cell for people; the view, if the cell makes its rows. */
function shownCell(table: CatalogTable, column: string): string {
  return viewOfRows(column) ?? shownColumn(table, column);
}

function cellsOf(text: string, only: readonly string[] | null): Omit<CellErrorRecord, "key">[] {
  return Object.entries(JSON.parse(text) as Record<string, CellError | "pending">).flatMap(([column, error]) =>
    error === "pending" || (only !== null && !only.includes(column))
      ? []
      : [
          {
            column,
            errortype: error.type,
            errormsg: error.message,
            function: error.function == null ? null : shownFunctionName(error.function),
            cause: error.column ?? null,
          },
        ],
  );
}

/** As in an HTTP response. An integer beyond the exact range of JSON readers stays text. */
function plainJson({ type }: RowKey["columns"][number], text: string): unknown {
  const value = fromSqlText(type, text);
  return typeof value === "bigint" ? String(value) : JSON.parse(valueToJson(type.kind, value));
}
