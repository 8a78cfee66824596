import type { ColumnType, EngineValue, TypeKind } from "@appdb/contract/types";
import { dtypeOf } from "../sql/storage-type.ts";
import { arrayFromSql, arrayToSql } from "../values/array-sql.ts";
import { asBuffer } from "./value-json.ts";

const NEEDS_ESCAPE = /["\\]/;
const ESCAPED = /["\\]/g;
/** Control characters and halves of pairs: what JSON may write in another way than an array of PostgreSQL's does. */
const UNLIKE_JSON = /[^ -~\u00a0-\ud7ff\ue000-\uffff]/;
const UTC_SUFFIX = /\+00$/;

/** Writes one column of many rows as PostgreSQL's array text, made in one pass: the driver's own is several times slower. */
export function arrayText(kind: TypeKind, rows: readonly (readonly EngineValue[])[], column: number): string {
  let text = "{";
  for (let index = 0; index < rows.length; index++) {
    if (index > 0) text += ",";
    text += elementText(kind, rows[index]?.[column] ?? null);
  }
  return `${text}}`;
}

/** Writes the values of one column as PostgreSQL's array text. */
export function columnText(kind: TypeKind, values: readonly EngineValue[]): string {
  let text = "{";
  for (let index = 0; index < values.length; index++) {
    if (index > 0) text += ",";
    text += elementText(kind, values[index] ?? null);
  }
  return `${text}}`;
}

function elementText(kind: TypeKind, value: EngineValue): string {
  if (value === null) return "NULL";
  if (kind === "string" || kind === "json") return quoteElement(value as string);
  if (kind === "array") return quoteElement(arrayToSql(value as string));
  if (kind === "binary") return `"\\\\x${asBuffer(value).toString("hex")}"`;
  return scalarText(value);
}

/** Writes a text as an element of an array. */
export function quoteElement(text: string): string {
  if (!NEEDS_ESCAPE.test(text)) return `"${text}"`;
  // Several times faster where it writes the same.
  return UNLIKE_JSON.test(text) ? `"${text.replace(ESCAPED, "\\$&")}"` : JSON.stringify(text);
}

/** Writes one value as PostgreSQL's text of its type. */
export function toSqlText(type: ColumnType, value: EngineValue): string {
  // pgvector writes its vectors as JSON writes lists.
  if (type.vector !== undefined) return value as string;
  if (type.kind === "array") return arrayToSql(value as string);
  if (type.kind === "binary") return `\\x${asBuffer(value).toString("hex")}`;
  return scalarText(value);
}

function scalarText(value: EngineValue): string {
  if (value === true) return "t";
  if (value === false) return "f";
  return Object.is(value, -0) ? "-0" : `${value}`;
}

/** Reads PostgreSQL's text of a stored value (session in UTC and ISO style) as the engine's value. */
export function fromSqlText(type: ColumnType, text: string): EngineValue {
  switch (type.kind) {
    case "string":
    case "date":
    case "uuid":
    case "json":
      return text;
    case "int":
      return parseInt64(text);
    case "float":
      return Number(text);
    case "bool":
      return text === "t";
    case "timestamp":
      return timestampFromSql(text);
    case "array":
      return arrayFromSql(dtypeOf(type), text);
    case "binary":
      return Buffer.from(text.slice(2), "hex");
  }
}

/** A number while it is exact, a bigint beyond. */
export function parseInt64(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

/** `2024-01-02 03:04:05.6+00` -> `2024-01-02T03:04:05.600000Z` */
function timestampFromSql(text: string): string {
  const plain = text.replace(UTC_SUFFIX, "").replace(" ", "T");
  const dot = plain.indexOf(".");
  return dot < 0 ? `${plain}Z` : `${plain.padEnd(dot + 7, "0")}Z`;
}
