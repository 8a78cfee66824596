import { type ExactJson, type ExactObject, printExact } from "@appdb/contract/clients/exact-json";
import type { DataColumn, DataTable } from "@appdb/contract/routes/data-api";
import { fileAddress } from "../files/shown-file.ts";
import { isWrittenAsJson } from "../tables/cell-draft.ts";
import { cellFailure, cellFile } from "../tables/read-rows.ts";

export const EXPORT_FORMATS = {
  csv: { title: "CSV", type: "text/csv" },
  jsonl: { title: "JSON lines", type: "application/jsonl" },
} as const;
export type ExportFormat = keyof typeof EXPORT_FORMATS;

/** What comes before the rows. */
export function printHead({ columns }: DataTable, format: ExportFormat): string {
  return format === "csv" ? csvLine(columns.map(({ name }) => csvText(name))) : "";
}

/** A row as a line. Numbers keep all digits, failed cells are empty, and files are their addresses. */
export function printRow({ columns }: DataTable, row: ExactObject, format: ExportFormat): string {
  if (format === "csv") return csvLine(columns.map((column) => csvCell(row, column)));
  return `${printExact(new Map(columns.map((column) => [column.name, exportedValue(row, column)])))}\n`;
}

function exportedValue(row: ExactObject, { name, type }: DataColumn): ExactJson {
  if (cellFailure(row, name) !== undefined) return null;
  const file = cellFile(row, name, type);
  return file === undefined ? (row.get(name) ?? null) : (file.url ?? file.uri ?? fileAddress(file));
}

/** An empty text has quotes, which null has not. */
function csvCell(row: ExactObject, column: DataColumn): string {
  const value = exportedValue(row, column);
  if (value === null) return "";
  return csvText(typeof value === "string" && !isWrittenAsJson(column) ? value : printExact(value));
}

function csvText(text: string): string {
  return text === "" || /[",;\t\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvLine(cells: readonly string[]): string {
  return `${cells.join(",")}\r\n`;
}
