import { isJson, jsonOf } from "@appdb/contract/clients/typed-values";
import type { DataColumn } from "@appdb/contract/routes/data-api";

const DAY_MS = 86_400_000;
const MICROS = 1_000_000n;

/** A JSON text as the file has it, with all digits of its numbers, in one line. Any other text is a string. */
class JsonText {
  readonly text: string;

  constructor(bytes: Uint8Array) {
    const text = new TextDecoder().decode(bytes);
    this.text = isJson(text) ? text.replace(LINE_ENDS, " ") : JSON.stringify(text);
  }
}

/** Strings of JSON have none. */
const LINE_ENDS = /[\r\n]+/g;

/** How values of Parquet's types are read: exactly, and as texts where JSON has no other form. */
export const PARSERS = {
  timestampFromMilliseconds: (millis: bigint) => (millis == null ? null : timestamp(BigInt(millis) * 1_000n)),
  timestampFromMicroseconds: (micros: bigint) => (micros == null ? null : timestamp(BigInt(micros))),
  timestampFromNanoseconds: (nanos: bigint) => (nanos == null ? null : timestamp(floorDiv(BigInt(nanos), 1_000n))),
  dateFromDays: (days: number) => (days == null ? null : new Date(days * DAY_MS).toISOString().slice(0, 10)),
  jsonFromBytes: (bytes: Uint8Array) => (bytes == null ? null : new JsonText(bytes)),
};

/** The JSON of a cell in the form that the column takes. The server refuses what does not fit. */
export function cellJson(column: DataColumn, value: unknown): string {
  const isBinary = column.type.startsWith("Binary");
  const given = value instanceof Uint8Array && !isBinary ? new TextDecoder().decode(value) : value;
  // a text in a column of json, arrays or numbers is what a cell of CSV would be
  if (typeof given === "string" && !isBinary) return jsonOf(column, { text: given, is_quoted: true });
  return json(given);
}

function json(value: unknown): string {
  if (value === undefined || value === null || Number.isNaN(value)) return "null";
  if (typeof value === "bigint") return value.toString();
  if (value instanceof JsonText) return value.text;
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString("base64"));
  if (Array.isArray(value) || ArrayBuffer.isView(value)) {
    return `[${Array.from(value as unknown as Iterable<unknown>, json).join(",")}]`;
  }
  // JSON has no infinite numbers: the server refuses the text
  if (typeof value === "number" && !Number.isFinite(value)) return JSON.stringify(String(value));
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}:${json(member)}`)
    .join(",")}}`;
}

function timestamp(micros: bigint): string {
  const seconds = floorDiv(micros, MICROS);
  const rest = (micros - seconds * MICROS).toString().padStart(6, "0");
  return `${new Date(Number(seconds) * 1_000).toISOString().slice(0, -5)}.${rest}Z`;
}

function floorDiv(value: bigint, by: bigint): bigint {
  const whole = value / by;
  return whole * by > value ? whole - 1n : whole;
}
