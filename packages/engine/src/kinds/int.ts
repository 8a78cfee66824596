import type { EngineValue } from "@appdb/contract/types";
import { typeMismatch } from "../values/describe-value.ts";
import { parseInt64, parseInt64Text } from "../values/parse-numbers.ts";
import type { ValueError } from "../values/value-error.ts";
import {
  AGGREGATES,
  ORDERED,
  orNull,
  PLAIN_IN_URL,
  PLAIN_NULL,
  PLAIN_TEXT,
  SHORT,
  same,
  storedAs,
  toJsonSql,
  typedLiteral,
} from "./common.ts";
import { BINARY_INTS } from "./inserts/binary-forms.ts";
import type { Kind, RawText } from "./kind.ts";
import { INTS } from "./results/arrow-columns.ts";
import { PACKED_INTS } from "./results/pack-forms.ts";
import { VALUE } from "./type-change.ts";

/** Integers up to this value have an exact float. */
const EXACT_FLOAT = "9007199254740992";

/** 64-bit integers: a number while exact, a bigint beyond. */
export const int: Kind = {
  parse: parseInteger,
  parseUrl: (text) =>
    /^[+-]?\d+$/.test(text.trim()) ? parseInt64Text(text.trim().replace(/^\+/, ""), "Int") : undefined,
  ...PLAIN_IN_URL,
  hasEmptyText: false,
  toJson: String,
  fromLiteral: (value) => parseInt64(String(value)),
  literalJson: Number,

  ...storedAs("int8"),
  ...PLAIN_TEXT,
  fromSql: parseInt64,
  textWriter: () => same,
  fieldWriter: () => (sheet, row, start, end) => sheet.copy(row, start, end),
  castedText: same,
  isJsonValue: false,
  isForeignSql: null,
  isWatched: true,

  ...ORDERED,

  literalSql: (value) =>
    typeof value === "string" && /^-?[0-9]{1,19}$/.test(value) ? typedLiteral(value, "int8") : undefined,
  casts: {
    string: (sql) => `${sql}::text`,
    float: (sql) => `${sql}::float8`,
    bool: (sql) => `(${sql} <> 0)`,
    json: toJsonSql,
  },
  ...PLAIN_NULL,
  printed: (sql) => `${sql}::text`,
  isJsonAlike: true,
  isVector: false,
  aggregates: {
    ...AGGREGATES,
    sum: (sql, over) => `sum(${sql})${over}::int8`,
    // The numerator's decimal places determine those of the quotient.
    mean: (sql, over) =>
      `((sum(${sql})${over} + 0.000000000000000000000000000000) / nullif(count(${sql})${over}, 0))::float8`,
  },
  changes: {
    float: () => ({
      using: `${VALUE}::float8`,
      checks: [
        {
          misfit: `${VALUE} not between -${EXACT_FLOAT} and ${EXACT_FLOAT}`,
          reason: "beyond 2^53, which a Float may not hold exactly",
        },
      ],
      schema: null,
    }),
  },

  ...SHORT,
  wire: null,
  packed: "integer",
  binary: BINARY_INTS,
  arrow: INTS,
  pack: PACKED_INTS,

  schema: () => ({ type: "integer", format: "int64" }),
  nullable: orNull,
  example: () => 1,
  fits: ({ category }) => category === "N",

  samples: {
    type: { kind: "int" },
    values: [
      0,
      1,
      -1,
      2,
      -2,
      3,
      -3,
      7,
      -7,
      10,
      63,
      64,
      100,
      1000,
      -1000,
      2 ** 31 - 1,
      2 ** 31,
      -(2 ** 31),
      -(2 ** 31) - 1,
      2 ** 32,
      2 ** 53 - 1,
      -(2 ** 53) + 1,
      2n ** 53n,
      2n ** 53n + 1n,
      -(2n ** 53n) - 1n,
      2n ** 62n,
      2n ** 63n - 1n,
      2n ** 63n - 2n,
      -(2n ** 63n),
      -(2n ** 63n) + 1n,
    ],
    random: (dice) => (dice.next() < 0.5 ? dice.int(-20, 20) : dice.int(-(2 ** 40), 2 ** 40)),
  },
};

function parseInteger(value: unknown, raw: RawText): EngineValue | ValueError {
  if (typeof value !== "number") return typeMismatch("an integer", value);
  // `+ 0` converts -0 to 0: an Int has no negative zero.
  return Number.isSafeInteger(value) ? value + 0 : parseInt64Text(raw(), "Int");
}
