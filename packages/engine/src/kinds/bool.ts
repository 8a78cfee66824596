import { typeMismatch } from "../values/describe-value.ts";
import {
  AGGREGATES,
  AS_IS_ON_WIRE,
  ORDERED,
  OWN_LITERAL,
  orNull,
  PLAIN_IN_URL,
  PLAIN_NULL,
  SHORT,
  storedAs,
  toJsonSql,
} from "./common.ts";
import { BINARY_BOOLS } from "./inserts/binary-forms.ts";
import type { Kind, Value } from "./kind.ts";
import { BOOLS } from "./results/arrow-columns.ts";
import { PACKED_BOOLS } from "./results/pack-forms.ts";

const TRUE = Buffer.from("true");
const FALSE = Buffer.from("false");
const T = "t".charCodeAt(0);

/** True and false. */
export const bool: Kind = {
  parse: (value) => (typeof value === "boolean" ? value : typeMismatch("a boolean (true or false)", value)),
  parseUrl(text) {
    const word = text.trim().toLowerCase();
    if (word === "true" || word === "1") return true;
    return word === "false" || word === "0" ? false : undefined;
  },
  ...PLAIN_IN_URL,
  hasEmptyText: false,
  toJson: String,
  ...OWN_LITERAL,

  ...storedAs("bool"),
  toSql: letterOf,
  toElement: letterOf,
  toCopy: letterOf,
  fromSql: (text) => text === "t",
  textWriter: () => (text) => (text === "t" ? "true" : "false"),
  fieldWriter: () => (sheet, row, start) => (row[start] === T ? sheet.copy(TRUE, 0, 4) : sheet.copy(FALSE, 0, 5)),
  // A cast writes the full word; everything else uses t and f.
  castedText: (sql) => `left(${sql}, 1)`,
  isJsonValue: true,
  isForeignSql: null,
  isWatched: true,

  ...ORDERED,
  index: null,

  literalSql: (value) => (typeof value === "boolean" ? String(value) : undefined),
  casts: {
    string: (sql) => `CASE ${sql} WHEN true THEN 'True' WHEN false THEN 'False' END`,
    int: (sql) => `${sql}::int4::int8`,
    json: toJsonSql,
  },
  ...PLAIN_NULL,
  printed: (sql) => `CASE ${sql} WHEN true THEN 'True' WHEN false THEN 'False' END`,
  isJsonAlike: true,
  isVector: false,
  // PostgreSQL has no min or max of Bool.
  aggregates: {
    ...AGGREGATES,
    min: (sql, over) => `bool_and(${sql})${over}`,
    max: (sql, over) => `bool_or(${sql})${over}`,
  },
  changes: {},

  ...SHORT,
  ...AS_IS_ON_WIRE,
  binary: BINARY_BOOLS,
  arrow: BOOLS,
  pack: PACKED_BOOLS,

  schema: () => ({ type: "boolean" }),
  nullable: orNull,
  example: () => true,
  fits: ({ category }) => category === "B",

  samples: { type: { kind: "bool" }, values: [true, false], random: null },
};

function letterOf(value: Value): string {
  return value === true ? "t" : "f";
}
