import type { EngineValue } from "@appdb/contract/types";
import { raiseWhere } from "../sql/raise-where.ts";
import { parseText } from "../values/parse-text.ts";
import { ValueError } from "../values/value-error.ts";
import { AGGREGATES, AS_IS_ON_WIRE, escapeCopy, quoteElement, same, storedAs, typedLiteral } from "./common.ts";
import { parseFloat64 } from "./float.ts";
import { BINARY_CHECKED } from "./inserts/binary-forms.ts";
import { exampleOfSchema } from "./json-example.ts";
import type { Json, Kind, SqlForm } from "./kind.ts";
import { TEXTS } from "./results/arrow-columns.ts";
import { PACKED_AS_JSON } from "./results/pack-forms.ts";
import { hashOfText } from "./string.ts";
import { KEPT } from "./type-change.ts";

/** Python's JSON parser fails at about a thousand levels. */
const DEEPEST_JSON = 500;
/** Factor between a stored value's size and its size in memory: PostgreSQL only reports the compressed size. */
const UNPACKED = 4;

/** Any JSON, as written: key order and digits are kept. A JSON null counts as null. */
export const json: Kind = {
  parse: (value, raw) => misfitInJson(value, 0) ?? raw(),
  parseUrl(text) {
    const value = parsed(text);
    return value === undefined ? undefined : (misfitInJson(value, 0) ?? text);
  },
  joinUrl: listOf,
  urlForm: `; a list is written ["a","b"], a text "a"`,
  hasEmptyText: false,
  toJson: (value) => value as string,
  fromLiteral: (value) => value,
  literalJson: (value) => JSON.parse(String(value)) as Json,

  ...storedAs("json"),
  toSql: String,
  toElement: quoteElement,
  toCopy: escapeCopy,
  fromSql: same,
  textWriter: () => same,
  fieldWriter: () => (sheet, row, start, end) => sheet.copy(row, start, end),
  castedText: same,
  size: (sql) => `coalesce(pg_column_size(${sql}), 0)::float8 * ${UNPACKED}`,
  isJsonValue: false,
  isForeignSql: null,
  isWatched: false,

  index: null,
  key: (sql) => hashOfText(`${sql}::jsonb::text`),
  isOrdered: false,
  equals: (one, other) => `${one}::jsonb = ${other}::jsonb`,
  membership: "each",

  literalSql: (value) => typedLiteral(value, "json"),
  casts: {
    // Integers print alike on both sides; other numbers, lists and objects do not.
    string: fromJson(["string", "boolean"], "^(0|-?[1-9][0-9]{0,17})$", "text"),
    int: fromJson([], "^-?[0-9]{1,18}$", "int8"),
    // Python reads an integer -0 as an Int, which loses the sign.
    float: fromJson([], "^(?!-0$)-?[0-9]", "float8"),
    bool: fromJson(["boolean"], undefined, "bool"),
  },
  isNull: { is: (sql) => `(${jsonIsNull(sql)})`, isNot: (sql) => `(NOT ${jsonIsNull(sql)})` },
  printed: null,
  isJsonAlike: false,
  isVector: true,
  aggregates: { ...AGGREGATES, count: (sql, over) => `count(*) filter (where json_typeof(${sql}) <> 'null')${over}` },
  changes: { json: (_from, to) => ({ ...KEPT, schema: to.schema ?? null }) },

  ...AS_IS_ON_WIRE,
  isLong: true,
  binary: BINARY_CHECKED,
  arrow: TEXTS,
  pack: PACKED_AS_JSON,

  // Any value except null.
  schema: () => ({ type: ["object", "array", "string", "number", "boolean"], items: {} }),
  // Any JSON, in a form that generators support.
  nullable: () => ({}),
  example: ({ schema }) =>
    schema === undefined ? { key: "value" } : exampleOfSchema(schema as { [key: string]: Json }),
  fits: ({ type }) => type === "json" || type === "jsonb",

  samples: {
    type: { kind: "json" },
    values: [
      "1",
      "-1",
      "0",
      "-0",
      "-0.0",
      "1.0",
      "1e3",
      "1.50",
      "12345678901234567890",
      "1e400",
      "1e-400",
      "0.1",
      "9007199254740993",
      '"a"',
      '""',
      '"12"',
      '"\\u00e9\\n"',
      '"\\ud83d\\ude00"',
      '"\\u0000"',
      '"\\ud800"',
      "true",
      "false",
      "[]",
      "{}",
      '{"a": 1, "b": [1, "x", null, true], "c": {"a": "deep", "b": null}}',
      '{"a":null}',
      '{"a":1,"a":2}',
      '{"":"e","a.b":3}',
      '{"a":[{"b":1},{"b":"two"}], "n":-0, "f":-0.0}',
      "[1,2,3]",
      '[[1],["a",{"a":[5]}]]',
      "[null]",
      '{"a":"ΑΣ","b":true,"c":1.5}',
      '{"a" : "\\u0061\\"\\\\", "b":12345678901234567890123}',
      '"a\\u0000b"',
      '{"b":{"c":[0,false,"x"]}}',
      ' [ 1 , "a" ] ',
    ],
    random: null,
  },
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: the caller has the error message.
    return undefined;
  }
}

/** The JSON of a list of texts, each of which is JSON or a plain string. */
function listOf(texts: readonly string[]): string {
  return `[${texts.map((text) => (parsed(text) !== undefined ? text : JSON.stringify(text))).join(",")}]`;
}

function misfitInJson(value: unknown, depth: number): ValueError | undefined {
  if (typeof value === "string") return misfitOf(parseText(value));
  if (typeof value === "number") return misfitOf(parseFloat64(value));
  if (typeof value !== "object" || value === null) return undefined;
  if (depth >= DEEPEST_JSON) return new ValueError(`The Json value nests deeper than ${DEEPEST_JSON} levels.`);
  for (const [key, item] of Object.entries(value)) {
    const misfit = misfitOf(parseText(key)) ?? misfitInJson(item, depth + 1);
    if (misfit !== undefined) return misfit;
  }
  return undefined;
}

function misfitOf(value: EngineValue | ValueError): ValueError | undefined {
  return value instanceof ValueError ? value : undefined;
}

/** A JSON null counts as null. */
function jsonIsNull(sql: string): string {
  return `coalesce(json_typeof(${sql}) = 'null', true)`;
}

/** A Json value of these types, or a number that matches `number`, as SQL type `type`. A JSON null gives null. */
function fromJson(types: readonly string[], number: string | undefined, type: string): SqlForm {
  const plain = ["null", ...types].map((name) => `'${name}'`).join(", ");
  return (sql) => {
    const kind = `json_typeof(${sql})`;
    const text = `(${sql} #>> '{}')`;
    const isNumber = number === undefined ? "" : ` AND (${kind} <> 'number' OR ${text} !~ '${number}')`;
    return raiseWhere(`(${kind} NOT IN (${plain})${isNumber})`, `length(${kind})`, type, `${text}::${type}`);
  };
}
