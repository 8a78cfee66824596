import type { ArrayDtype } from "@appdb/contract/types";
import { float32Text, floatText } from "../values/float-text.ts";

/** Elements and nested lists of an array, from JSON.parse. */
export type Nested = unknown | readonly Nested[];

const NEEDS_ESCAPE = /["\\]/g;
/** Lower bounds other than 1, which only other programs write: `[0:2]={...}`. */
const BOUNDS = /^(?:\[-?\d+:-?\d+\])+=/;

/** Converts the JSON text of an array to PostgreSQL's array text. */
export function arrayToSql(json: string): string {
  if (!json.includes('"')) return json.replaceAll("[", "{").replaceAll("]", "}");
  return writeTexts(JSON.parse(json));
}

function writeTexts(value: Nested): string {
  if (Array.isArray(value)) return `{${value.map(writeTexts).join(",")}}`;
  return `"${String(value).replace(NEEDS_ESCAPE, "\\$&")}"`;
}

/** Converts PostgreSQL's array text to the JSON text of the nested list. Nulls and non-finite numbers, which only
 *  other programs write, become null. */
export function arrayFromSql(dtype: ArrayDtype, sql: string): string {
  const text = sql.startsWith("[") ? sql.replace(BOUNDS, "") : sql;
  switch (dtype) {
    case "string":
      return readTexts(text);
    case "bool":
      return brackets(text.replace(/[tf]/g, (letter) => (letter === "t" ? "true" : "false")));
    case "float32":
    case "float64":
      return printArray(dtype, JSON.parse(brackets(text)));
    default:
      return brackets(text);
  }
}

/** Writes parsed elements as the canonical JSON text of their array. */
export function printArray(dtype: ArrayDtype, value: Nested): string {
  if (Array.isArray(value)) return `[${value.map((item) => printArray(dtype, item)).join(",")}]`;
  if (typeof value !== "number") return JSON.stringify(value);
  if (dtype === "float32") return float32Text(value);
  return dtype === "float64" ? floatText(value) : String(value);
}

function brackets(text: string): string {
  const json = text.replaceAll("{", "[").replaceAll("}", "]");
  return /[NI]/.test(json) ? json.replace(/NULL|NaN|-?Infinity/g, "null") : json;
}

/** Elements without special characters have no quotes. Each token is a brace, a comma, a quoted or a bare element. */
function readTexts(text: string): string {
  return text.replace(/[{}]|,|"((?:[^"\\]|\\.)*)"|[^{},"]+/gs, (token, quoted: string | undefined) => {
    if (quoted !== undefined) return JSON.stringify(quoted.replace(/\\(.)/gs, "$1"));
    if (token === "{") return "[";
    if (token === "}") return "]";
    if (token === ",") return token;
    return token === "NULL" ? "null" : JSON.stringify(token);
  });
}
