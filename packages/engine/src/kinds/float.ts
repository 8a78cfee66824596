import type { EngineValue } from "@appdb/contract/types";
import { quoteLiteral } from "../sql/quote.ts";
import { typeMismatch } from "../values/describe-value.ts";
import { floatText } from "../values/float-text.ts";
import { ValueError } from "../values/value-error.ts";
import { AGGREGATES, ORDERED, OWN_LITERAL, orNull, PLAIN_IN_URL, PLAIN_NULL, SHORT, same, storedAs } from "./common.ts";
import { BINARY_FLOATS } from "./inserts/binary-forms.ts";
import type { JsonSheet } from "./json-sheet.ts";
import type { FieldWriter, Kind, Literal, Value } from "./kind.ts";
import { FLOATS } from "./results/arrow-columns.ts";
import { PACKED_FLOATS } from "./results/pack-forms.ts";
import { VALUE } from "./type-change.ts";

const INT_BOUND = "9223372036854775808";
const ZERO = 0x30;
const NINE = 0x39;
const POINT = 0x2e;

/** Finite 64-bit numbers. */
export const float: Kind = {
  parse: parseFloat64,
  parseUrl(text) {
    const value = /\d/.test(text) && /^[+\-.\deE\s]+$/.test(text) ? Number(text) : Number.NaN;
    return Number.isFinite(value) ? value : undefined;
  },
  ...PLAIN_IN_URL,
  hasEmptyText: false,
  toJson: (value) => floatText(Number(value)),
  ...OWN_LITERAL,

  ...storedAs("float8"),
  toSql: floatSql,
  toElement: floatSql,
  toCopy: floatSql,
  fromSql: Number,
  textWriter: () => floatToJson,
  fieldWriter: (other) => (sheet, row, start, end) => writeFloat(sheet, row, start, end, other),
  castedText: same,
  isJsonValue: false,
  isForeignSql: (value) => `(${value} in ('NaN', 'Infinity', '-Infinity'))`,
  isWatched: false,

  ...ORDERED,

  literalSql(value: Literal) {
    if (typeof value !== "number" || !Number.isFinite(value)) return undefined;
    return `${quoteLiteral(floatSql(value))}::float8`;
  },
  casts: { int: (sql) => `trunc(${sql})::int8` },
  ...PLAIN_NULL,
  printed: null,
  isVector: false,
  isJsonAlike: false, // 1 and 1.0 differ.
  aggregates: {
    ...AGGREGATES,
    // Adds in the order of the table, so that the sum is deterministic and an ETag stays valid while rows do not
    // change.
    sum: (sql, over) => `sum(${inOrder(sql)})${over}`,
    mean: (sql, over) => `avg(${inOrder(sql)})${over}`,
    listed: (sql) => `(CASE WHEN ${sql}::text ~ '^-?[0-9]+$' THEN ${sql}::text || '.0' ELSE ${sql}::text END)::json`,
  },
  changes: {
    int: () => ({
      using: `${VALUE}::int8`,
      checks: [
        {
          misfit: `(${VALUE} <> trunc(${VALUE}) or ${VALUE} < -${INT_BOUND}::float8 or ${VALUE} >= ${INT_BOUND}::float8)`,
          reason: "not an integer of 64 bits",
        },
      ],
      schema: null,
    }),
  },

  ...SHORT,
  wire: null,
  packed: "double",
  binary: BINARY_FLOATS,
  arrow: FLOATS,
  pack: PACKED_FLOATS,

  schema: () => ({ type: "number", format: "double" }),
  nullable: orNull,
  example: () => 1.5,
  fits: ({ category }) => category === "N",

  samples: {
    type: { kind: "float" },
    values: [
      0,
      -0,
      1,
      -1,
      0.5,
      -0.5,
      1.5,
      2.5,
      0.1,
      0.2,
      0.3,
      1 / 3,
      1e15,
      1e16,
      123456789.125,
      4.35,
      1e-5,
      1e22,
      -1e22,
      2 ** 53,
      2 ** 53 + 2,
      -(2 ** 53),
      2 ** 63,
      -(2 ** 63),
      9.223372036854775e18,
      1e308,
      -1e308,
      1.7976931348623157e308,
      5e-324,
      -5e-324,
      2.2250738585072014e-308,
      1e-200,
    ],
    random: (dice) => (dice.next() < 0.5 ? dice.int(-2000, 2000) / 8 : (dice.next() - 0.5) * 10 ** dice.int(-20, 20)),
  },
};

/** Any finite JSON number is a Float. */
export function parseFloat64(value: unknown): EngineValue | ValueError {
  if (typeof value !== "number") return typeMismatch("a number", value);
  return Number.isFinite(value) ? value : new ValueError("The number is beyond the range of Float.");
}

function floatSql(value: Value): string {
  return Object.is(value, -0) ? "-0" : `${value}`;
}

/** Both sides write the fewest digits that identify a number. The texts are equal unless there is an exponent. */
function floatToJson(text: string): string {
  // only SQL of people has values that are not finite, and JSON has none
  if (text.includes("N") || text.includes("I")) return "null";
  if (text.includes("e")) return floatText(Number(text));
  return text.includes(".") ? text : `${text}.0`;
}

/** Copies digits, sign and point; exponents, infinities and NaN take the slow path. */
function writeFloat(sheet: JsonSheet, row: Buffer, start: number, end: number, other: FieldWriter): void {
  const { bytes } = sheet;
  let { at } = sheet;
  let hasPoint = false;
  for (let from = start; from < end; from++) {
    const byte = row[from] as number;
    if (byte === POINT) hasPoint = true;
    else if (byte > NINE) {
      other(sheet, row, start, end);
      return;
    }
    bytes[at++] = byte;
  }
  if (!hasPoint) {
    bytes[at++] = POINT;
    bytes[at++] = ZERO;
  }
  sheet.at = at;
}

/** The planner sees that the function is not parallel-safe, and then inlines it (migration 13 of the catalog). */
function inOrder(sql: string): string {
  return `appdb.in_order(${sql})`;
}
