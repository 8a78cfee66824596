import type { Expr } from "@appdb/contract/expressions";
import type { DataColumn } from "@appdb/contract/routes/data-api";
import type { CsvCell } from "./read-csv.ts";

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const MEDIA = /^(?:Image|Video|Audio|Document)\b/;
const OPTIONAL = " | None";

/** Whether cells of a column are files. */
export function isMediaColumn({ is_computed: isComputed, type }: DataColumn): boolean {
  return !isComputed && MEDIA.test(type);
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

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** A JSON text as a constant. The server converts it to the type of the column. */
export function literalOf(json: string): Expr {
  const value: unknown = JSON.parse(json);
  if (typeof value === "string") return { node: "literal", value, type: { kind: "string" }, nullable: false };
  if (typeof value === "boolean") return { node: "literal", value, type: { kind: "bool" }, nullable: false };
  if (value === null) return { node: "literal", value, type: { kind: "string" }, nullable: true };
  // the text has all digits of a number
  return { node: "literal", value: json, type: { kind: "json" }, nullable: false };
}
