import { appError } from "@appdb/contract/errors";
import type { Row, RowLayout } from "../compute/row-layout.ts";
import { shownKey } from "./sql-refusals.ts";

/** A row's key as one text, equal for equal keys. */
export function rowKeyText(layout: RowLayout, row: Row): string {
  const [first = "", ...others] = layout.table.primary_key;
  let key = String(row[layout.index.get(first) ?? -1]);
  for (const name of others) key += `\0${row[layout.index.get(name) ?? -1]}`;
  return key;
}

/** Items sorted by key. Statements that lock rows in one order wait for each other and do not deadlock. */
export function inKeyOrder<Item extends { readonly row: Row }>(
  layout: RowLayout,
  items: readonly Item[],
): readonly Item[] {
  if (items.length === 1) return items;
  const keyed = items.map((item) => ({ item, key: rowKeyText(layout, item.row) }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ item }) => item);
}

export function rowNotFound(layout: RowLayout, row: Row): Error {
  const { name, primary_key: primaryKey } = layout.table;
  return appError("row_not_found", {
    detail: `${name} has no row with (${primaryKey.join(", ")}) = (${shownKey(layout, row)}).`,
    hint: "Send the key of an existing row. An insert route creates rows.",
    meta: { table: name, columns: primaryKey },
  });
}
