import type { DataColumn } from "@appdb/contract/routes/data-api";

const SORTABLE = /^(?:String|Int|Float|Bool|Timestamp|Date|UUID)\b/;

/** Whether the server sorts rows by the column. */
export function isSortable({ type }: DataColumn): boolean {
  return SORTABLE.test(type);
}

/** The direction in which rows are sorted by a column. */
export function orderOf(column: string, orderBy: string | undefined): "ascending" | "descending" | undefined {
  if (orderBy === `${column}:asc`) return "ascending";
  return orderBy === `${column}:desc` ? "descending" : undefined;
}

/** The order after a click on a header: ascending, descending, then the newest rows first. */
export function nextOrder(column: string, orderBy: string | undefined): string | undefined {
  const order = orderOf(column, orderBy);
  if (order === undefined) return `${column}:asc`;
  return order === "ascending" ? `${column}:desc` : undefined;
}
