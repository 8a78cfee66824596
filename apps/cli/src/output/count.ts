import type { DataTable } from "@appdb/contract/routes/data-api";

/** `1 table`, `2 tables`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** `12 rows`, `~50000 rows` for an estimate. */
export function countRows({
  is_rows_estimated: isEstimated,
  rows,
}: Pick<DataTable, "is_rows_estimated" | "rows">): string {
  return `${isEstimated ? "~" : ""}${count(rows, "row")}`;
}

/** `1 table, 7 views`; views only if there are any. */
export function countTables(tables: number, views: number): string {
  return [count(tables, "table"), ...(views === 0 ? [] : [count(views, "view")])].join(", ");
}
