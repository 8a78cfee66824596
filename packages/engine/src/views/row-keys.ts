import type { CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { INT_TYPE, UUID_TYPE } from "../kinds/kinds.ts";
import { quoteIdent, quoteTable } from "../sql/quote.ts";
import { BASE_ROW } from "./lower-iterators.ts";

/** What identifies a row for people: the key of its table, or that of the row that makes it, and its number. */
export interface RowKey {
  readonly columns: readonly Pick<CatalogColumn, "name" | "type">[];
  /** SQL of each part. */
  readonly values: readonly string[];
}

/** The key of a table's rows. `alias`: the table's name in the statement, without quotes. */
export function rowKey(table: CatalogTable, tables: readonly CatalogTable[], alias: string): RowKey {
  const own = (name: string): string => `${quoteIdent(alias)}.${quoteIdent(name)}`;
  const base = tables.find(({ folder, name }) => folder === table.folder && name === table.rows_of?.table);
  if (base === undefined) {
    const columns = keyColumns(table);
    return { columns, values: columns.map(({ name }) => own(name)) };
  }
  const above = `${alias}^`;
  const outer = rowKey(base, tables, above);
  const row = `from ${quoteTable(base)} as ${quoteIdent(above)} where ${quoteIdent(above)}.${quoteIdent(base.identity)} = ${own(BASE_ROW)}`;
  const named = outer.columns.map((column) =>
    column.name === "pos" ? { ...column, name: `${base.name}.pos` } : column,
  );
  return {
    columns: [...named, { name: "pos", type: INT_TYPE }],
    values: [...outer.values.map((value) => `(select ${value} ${row})`), own("pos")],
  };
}

/** The columns that identify a row of a table without others: the declared key, else the row's identity. */
export function keyColumns(table: CatalogTable): readonly Pick<CatalogColumn, "name" | "type">[] {
  const declared = table.columns.filter((column) => table.primary_key.includes(column.name));
  return declared.length > 0 ? declared : [{ name: table.identity, type: UUID_TYPE }];
}
