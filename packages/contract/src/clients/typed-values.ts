import type { DataColumn } from "../routes/data-api.ts";
import type { CsvCell } from "./read-csv.ts";

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const MEDIA = /^(?:Image|Video|Audio|Document)\b/;
const OPTIONAL = " | None";

/** Whether cells of a column are files. */
export function isMediaColumn({ is_computed: isComputed, type }: DataColumn): boolean {
  return !isComputed && MEDIA.test(type);
}

/** Whether cells of a column are JSON texts. */
export function isJsonColumn({ type }: Pick<DataColumn, "type">): boolean {
  return /^Json\b/.test(type);
}

/** Whether a typed value has a text that is not JSON, and its column takes JSON. */
export function isBrokenJson(column: DataColumn, { is_quoted: isQuoted, text }: CsvCell): boolean {
  return isJsonColumn(column) && (text !== "" || isQuoted) && !isJson(text.trim());
}

/** The JSON text of a typed value, in the form that the column takes. The server refuses what does not fit. */
export function jsonOf(column: DataColumn, { is_quoted: isQuoted, text }: CsvCell): string {
  const isNullable = column.type.endsWith(OPTIONAL);
  const type = isNullable ? column.type.slice(0, -OPTIONAL.length) : column.type;
  const isText = type === "String";
  if (text === "" && !isQuoted && (isNullable || !isText)) return "null";
  const value = text.trim();
  if (type === "Int" || type === "Float") return NUMBER.test(value) ? value : JSON.stringify(text);
  if (type === "Bool") return /^(?:true|false)$/i.test(value) ? value.toLowerCase() : JSON.stringify(text);
  if (/^(?:Json|Array)\b/.test(type)) return isJson(value) ? value : JSON.stringify(text);
  return JSON.stringify(text);
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
