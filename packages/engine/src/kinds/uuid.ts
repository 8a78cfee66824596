import type { EngineValue } from "@appdb/contract/types";
import { typeMismatch } from "../values/describe-value.ts";
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
import { BINARY_UUIDS } from "./inserts/binary-forms.ts";
import type { Kind } from "./kind.ts";
import { TEXTS } from "./results/arrow-columns.ts";
import { PACKED_TEXTS } from "./results/pack-forms.ts";

const HYPHENED = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const DIGITS = /^[0-9a-f]{32}$/i;

/** UUIDs of any version: lower-case digits with hyphens. */
export const uuid: Kind = {
  parse: parseUuid,
  parseUrl(text) {
    const parsed = parseUuid(text);
    return parsed instanceof ValueError ? undefined : parsed;
  },
  ...PLAIN_IN_URL,
  hasEmptyText: false,
  toJson: quotedJson,
  ...OWN_LITERAL,

  ...storedAs("uuid"),
  ...PLAIN_TEXT,
  fromSql: same,
  textWriter: () => quotedJson,
  fieldWriter: () => (sheet, row, start, end) => sheet.quoted(row, start, end),
  castedText: same,
  isJsonValue: false,
  isForeignSql: null,
  isWatched: true,

  ...ORDERED,

  literalSql: (value) => typedLiteral(value, "uuid"),
  casts: { string: (sql) => `${sql}::text`, json: (sql) => `to_json(${sql}::text)` },
  ...PLAIN_NULL,
  printed: (sql) => `${sql}::text`,
  isJsonAlike: true,
  isVector: false,
  // PostgreSQL has no min or max of UUIDs; a UUID's text sorts like its bytes.
  aggregates: {
    ...AGGREGATES,
    min: (sql, over) => `min(${sql}::text)${over}::uuid`,
    max: (sql, over) => `max(${sql}::text)${over}::uuid`,
  },
  changes: {},

  ...SHORT,
  ...AS_IS_ON_WIRE,
  binary: BINARY_UUIDS,
  arrow: TEXTS,
  pack: PACKED_TEXTS,

  schema: () => ({ type: "string", format: "uuid" }),
  nullable: orNull,
  example: () => "019b7c3e-5a00-7000-8000-000000000001",
  fits: ({ type }) => type === "uuid",

  samples: {
    type: { kind: "uuid" },
    values: [
      "00000000-0000-0000-0000-000000000000",
      "ffffffff-ffff-ffff-ffff-ffffffffffff",
      "0189dcf9-7e8b-7000-8000-000000000000",
      "80000000-0000-4000-8000-000000000001",
    ],
    random: null,
  },
};

function parseUuid(value: unknown): EngineValue | ValueError {
  if (typeof value !== "string") return typeMismatch("a UUID in a string", value);
  if (HYPHENED.test(value)) return value.toLowerCase();
  if (!DIGITS.test(value)) return typeMismatch("a UUID", value);
  const digits = value.toLowerCase();
  return [0, 8, 12, 16, 20].map((at, part) => digits.slice(at, [8, 12, 16, 20, 32][part])).join("-");
}
