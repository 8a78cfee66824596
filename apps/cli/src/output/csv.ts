import { type ExactJson, printExact } from "@appdb/contract/clients/exact-json";

/** A line of CSV (RFC 4180). Null is an empty field, an empty text is quoted, and other values are JSON. */
export function csvLine(cells: readonly ExactJson[]): string {
  return cells.map(csvField).join(",");
}

function csvField(value: ExactJson): string {
  if (value === null) return "";
  const text = typeof value === "string" ? value : printExact(value);
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
