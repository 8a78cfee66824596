import { type ExactJson, printExact } from "@appdb/contract/clients/exact-json";

/**
 * A line of CSV (RFC 4180). Null is an empty field, an empty text is quoted, and other values are JSON. A comma is quoted
 * with each separator: readers take it for the separator of a single column.
 */
export function csvLine(cells: readonly ExactJson[], separator: "," | "\t" = ","): string {
  return cells.map((cell) => csvField(cell, separator)).join(separator);
}

function csvField(value: ExactJson, separator: string): string {
  if (value === null) return "";
  const text = typeof value === "string" ? value : printExact(value);
  return text === "" || text.includes(separator) || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
