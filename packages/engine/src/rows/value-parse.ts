import type { EngineValue, TypeKind } from "@appdb/contract/types";
import { Misfit } from "./misfit.ts";
import { parseDate, parseTimestamp } from "./parse-time.ts";

/** Gives the source text of the value being read: what JSON.parse made of it has lost digits and key order. */
export type RawText = () => string;

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
const NUMBER = /^(-?\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** No Int needs more characters, however it is written; beyond, exact arithmetic would cost more than it is worth. */
const LONGEST_NUMBER = 100;
const LARGEST_EXPONENT = 30;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const UUID_DIGITS = /^[0-9a-f]{32}$/i;
/** Python's own reader of JSON gives up at about a thousand. */
const DEEPEST_JSON = 500;

/** Reads a parsed JSON value, which is not null, as a value of the kind: the engine's form, as it will be stored. */
export function parseValue(kind: TypeKind, value: unknown, raw: RawText): EngineValue | Misfit {
  switch (kind) {
    case "string":
      return typeof value === "string" ? parseText(value) : wanted("a string", value);
    case "int":
      return parseInteger(value, raw);
    case "float":
      return parseFloat64(value);
    case "bool":
      return typeof value === "boolean" ? value : wanted("a boolean (true or false)", value);
    case "timestamp":
      return typeof value === "string" ? parseTimestamp(value) : wanted("an ISO 8601 timestamp in a string", value);
    case "date":
      return typeof value === "string" ? parseDate(value) : wanted("a date YYYY-MM-DD in a string", value);
    case "uuid":
      return parseUuid(value);
    case "json":
      return misfitInJson(value, 0) ?? raw();
  }
}

function parseText(text: string): string | Misfit {
  if (text.includes("\0")) return new Misfit("The text contains a NUL character (\\u0000), which cannot be stored.");
  if (!text.isWellFormed()) return new Misfit("The text contains half of a surrogate pair, which is no character.");
  return text;
}

function parseInteger(value: unknown, raw: RawText): EngineValue | Misfit {
  if (typeof value !== "number") return wanted("an integer", value);
  // `+ 0` turns -0 into 0: an Int has no negative zero.
  if (Number.isSafeInteger(value)) return value + 0;
  const text = raw();
  if (!Number.isFinite(value)) return outOfRange(text);
  const exact = wholeNumber(text);
  if (exact === undefined) return new Misfit(`An integer is wanted, the body has ${shorten(text)}.`);
  if (exact < INT64_MIN || exact > INT64_MAX) return outOfRange(text);
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
}

function outOfRange(text: string): Misfit {
  return new Misfit(`${shorten(text)} is beyond the range of Int, ${INT64_MIN} to ${INT64_MAX}.`);
}

/** All digits of a JSON number that is whole, whichever way it is written: `7`, `7.0`, `1e18`; undefined for others. */
function wholeNumber(text: string): bigint | undefined {
  if (text.length > LONGEST_NUMBER) return undefined;
  const [, digits = "", fraction = "", exponent = "0"] = NUMBER.exec(text) ?? [];
  const shift = Number(exponent) - fraction.length;
  if (Math.abs(shift) > LARGEST_EXPONENT + LONGEST_NUMBER) return undefined;
  const scaled = BigInt(digits + fraction);
  if (shift >= 0) return scaled * 10n ** BigInt(shift);
  const unit = 10n ** BigInt(-shift);
  return scaled % unit === 0n ? scaled / unit : undefined;
}

function parseFloat64(value: unknown): EngineValue | Misfit {
  if (typeof value !== "number") return wanted("a number", value);
  return Number.isFinite(value) ? value : new Misfit("The number is beyond the range of Float.");
}

function parseUuid(value: unknown): EngineValue | Misfit {
  if (typeof value !== "string") return wanted("a UUID in a string", value);
  if (UUID.test(value)) return value.toLowerCase();
  if (!UUID_DIGITS.test(value)) return wanted("a UUID", value);
  const digits = value.toLowerCase();
  return [0, 8, 12, 16, 20].map((at, part) => digits.slice(at, [8, 12, 16, 20, 32][part])).join("-");
}

function misfitInJson(value: unknown, depth: number): Misfit | undefined {
  if (typeof value === "string") return misfitOf(parseText(value));
  if (typeof value === "number") return misfitOf(parseFloat64(value));
  if (typeof value !== "object" || value === null) return undefined;
  if (depth >= DEEPEST_JSON) return new Misfit(`The Json value nests deeper than ${DEEPEST_JSON} levels.`);
  for (const [key, item] of Object.entries(value)) {
    const misfit = misfitOf(parseText(key)) ?? misfitInJson(item, depth + 1);
    if (misfit !== undefined) return misfit;
  }
  return undefined;
}

function misfitOf(parsed: EngineValue | Misfit): Misfit | undefined {
  return parsed instanceof Misfit ? parsed : undefined;
}

function wanted(what: string, value: unknown): Misfit {
  return new Misfit(`${what[0]?.toUpperCase()}${what.slice(1)} is wanted, the body has ${describe(value)}.`);
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return shorten(JSON.stringify(value));
}

function shorten(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}
