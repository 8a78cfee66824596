import type { CellErrorRecord, TableErrors } from "@appdb/contract/jobs";
import type { CatalogTable } from "../catalog/catalog.ts";
import { shownColumn } from "../catalog/hidden-columns.ts";
import { fromSqlText, valueToJson } from "../kinds/values.ts";
import { type SqlConnection, SqlError } from "../ports.ts";
import { quoteIdent, quoteLiteral, quoteTable } from "../sql/quote.ts";
import type { CellError } from "./cell-errors.ts";

/** A cell that waits for its value is not a failed one. */
const FAILING = `_errors is not null and _errors @? '$.* ? (@.type() == "object")'`;

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
    (table) => `select ${table.id}::text, e.key, count(*) from ${quoteTable(table)} t, jsonb_each(t._errors) e
      where t._errors is not null and e.value <> '"pending"' group by e.key`,
  );
  return (await sql.query({ text: parts.join(" union all ") })).rows;
}

/** The first failed cells of a table in insertion order, or of some columns, and their number per column. Errors of an embedding index
 *  count for the column under it. */
export async function listErrors(
  sql: SqlConnection,
  table: CatalogTable,
  input: { readonly path: string; readonly columns: readonly string[] | null; readonly limit: number },
): Promise<TableErrors> {
  const keys = table.columns.filter((column) => column.primary_key);
  const shown = [quoteIdent(table.identity), ...keys.map((column) => quoteIdent(column.name))];
  const names = input.columns === null ? null : input.columns.flatMap((column) => namesOf(table, column));
  const ofColumn = names === null ? "" : ` and _errors ?| array[${names.map(quoteLiteral).join(", ")}]`;
  const [counts, total, found] = await Promise.all([
    countErrors(sql, [table]),
    sql.query({ text: `select count(*) from ${quoteTable(table)} where ${FAILING}` }),
    sql.query({
      text: `select _errors, ${shown.join(", ")} from ${quoteTable(table)} where ${FAILING}${ofColumn}
        order by ${quoteIdent(table.identity)} limit $1::int`,
      values: [input.limit],
    }),
  ]);
  const errors = found.rows.flatMap(([text, identity, ...values]): CellErrorRecord[] => {
    const named = keys.map((column, at) => {
      const value = values[at] ?? null;
      return [column.name, value === null ? null : plainJson(column, value)];
    });
    const key = keys.length === 0 ? { [table.identity]: identity } : Object.fromEntries(named);
    return cellsOf(text ?? "{}", names).map((cell) => ({ key, ...cell, column: shownColumn(table, cell.column) }));
  });
  return {
    table: input.path,
    rows: Number(total.rows[0]?.[0]),
    counts: Object.fromEntries(
      Object.entries(counts.get(table.id) ?? {}).filter(([name]) => names === null || input.columns?.includes(name)),
    ),
    errors: errors.slice(0, input.limit),
  };
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
            function: error.function ?? null,
            cause: error.column ?? null,
          },
        ],
  );
}

/** As in an HTTP response. An integer beyond the exact range of JSON readers stays text. */
function plainJson({ type }: CatalogTable["columns"][number], text: string): unknown {
  const value = fromSqlText(type, text);
  return typeof value === "bigint" ? String(value) : JSON.parse(valueToJson(type.kind, value));
}
