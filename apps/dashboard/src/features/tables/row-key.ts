import { type ExactJson, type ExactObject, printExact } from "@appdb/contract/clients/exact-json";
import type { DataTable } from "@appdb/contract/routes/data-api";

/** Values of the row's key in its order. Empty for a table without a key. */
export function keyValues({ columns }: DataTable, row: ExactObject): readonly ExactJson[] {
  return columns.filter((column) => column.is_key).map(({ name }) => row.get(name) ?? null);
}

/** The key as routes take it: a text for each value. */
export function keyTexts(table: DataTable, row: ExactObject): readonly string[] {
  return keyValues(table, row).map((value) => (typeof value === "string" ? value : printExact(value)));
}

/** The body that deletes rows. Numbers keep all digits. */
export function deleteBody(table: DataTable, rows: readonly ExactObject[]): string {
  return printExact(new Map([["keys", rows.map((row) => keyValues(table, row))]]));
}
