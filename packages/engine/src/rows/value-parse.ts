import type { ColumnType, EngineValue } from "@appdb/contract/types";
import { wanted } from "../values/describe-value.ts";
import { Misfit } from "../values/misfit.ts";
import { parseArray } from "../values/parse-array.ts";
import { parseInt64Text } from "../values/parse-numbers.ts";
import { parseText } from "../values/parse-text.ts";
import { parseDate, parseTimestamp } from "../values/parse-time.ts";

/** Gives the source text of the value being read: what JSON.parse made of it has lost digits and key order. */
export type RawText = () => string;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const UUID_DIGITS = /^[0-9a-f]{32}$/i;
/** Python's own reader of JSON gives up at about a thousand. */
const DEEPEST_JSON = 500;

/** Reads a parsed JSON value, which is not null, as a value of the type: the engine's form, as it will be stored. */
export function parseValue(type: ColumnType, value: unknown, raw: RawText): EngineValue | Misfit {
  switch (type.kind) {
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
    case "array":
      return parseArray(type, value, raw);
    case "binary":
      return parseBase64(value);
  }
}

function parseInteger(value: unknown, raw: RawText): EngineValue | Misfit {
  if (typeof value !== "number") return wanted("an integer", value);
  // `+ 0` turns -0 into 0: an Int has no negative zero.
  return Number.isSafeInteger(value) ? value + 0 : parseInt64Text(raw(), "Int");
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

/** Base64 of RFC 4648 section 4, padding included: what is written in any other way may have been cut or mistyped. */
function parseBase64(value: unknown): EngineValue | Misfit {
  if (typeof value !== "string") return wanted("bytes as base64 in a string", value);
  const bytes = Buffer.from(value, "base64");
  return bytes.toString("base64") === value ? bytes : wanted("base64 (A-Z a-z 0-9 + /, padded with =)", value);
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
