import { typeMismatch } from "../values/describe-value.ts";
import { parseDate } from "../values/parse-time.ts";
import { ValueError } from "../values/value-error.ts";
import {
  AGGREGATES,
  AS_IS_ON_WIRE,
  ORDERED,
  OWN_LITERAL,
  orNull,
  PLAIN_IN_URL,
  PLAIN_NULL,
  PLAIN_TEXT,
  quotedJson,
  SHORT,
  same,
  storedAs,
  typedLiteral,
} from "./common.ts";
import { BINARY_DATES } from "./inserts/binary-forms.ts";
import type { Kind } from "./kind.ts";
import { DATES } from "./results/arrow-columns.ts";
import { PACKED_AS_JSON } from "./results/pack-forms.ts";

/** Calendar days: `YYYY-MM-DD`. */
export const date: Kind = {
  parse: (value) =>
    typeof value === "string" ? parseDate(value) : typeMismatch("a date YYYY-MM-DD in a string", value),
  parseUrl(text) {
    const parsed = parseDate(text);
    return parsed instanceof ValueError ? undefined : parsed;
  },
  ...PLAIN_IN_URL,
  hasEmptyText: false,
  toJson: quotedJson,
  ...OWN_LITERAL,

  ...storedAs("date"),
  ...PLAIN_TEXT,
  fromSql: same,
  textWriter: () => quotedJson,
  fieldWriter: () => (sheet, row, start, end) => sheet.quoted(row, start, end),
  castedText: same,
  isJsonValue: false,
  isForeignSql: (value) => `(${value} not between '0001-01-01' and '9999-12-31')`,
  isWatched: false,

  ...ORDERED,

  literalSql: (value) => typedLiteral(value, "date"),
  casts: {
    string: isoDate,
    timestamp: (sql) => `(${sql}::timestamp AT TIME ZONE 'UTC')`,
    json: (sql) => `to_json(${isoDate(sql)})`,
  },
  ...PLAIN_NULL,
  printed: isoDate,
  isJsonAlike: true,
  isVector: false,
  aggregates: AGGREGATES,
  changes: {},

  ...SHORT,
  ...AS_IS_ON_WIRE,
  binary: BINARY_DATES,
  arrow: DATES,
  pack: PACKED_AS_JSON,

  schema: () => ({ type: "string", format: "date" }),
  nullable: orNull,
  example: () => "2026-01-02",
  fits: ({ category }) => category === "D",

  samples: {
    type: { kind: "date" },
    values: ["1970-01-01", "0001-01-01", "0099-12-31", "9999-12-31", "2024-02-29", "2023-12-31"],
    random: (dice) => new Date(dice.int(-60_000_000, 250_000_000) * 1000).toISOString().slice(0, 10),
  },
};

function isoDate(sql: string): string {
  return `to_char(${sql}, 'YYYY-MM-DD')`;
}
