import { typeMismatch } from "../values/describe-value.ts";
import { parseTimestamp } from "../values/parse-time.ts";
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
import { BINARY_TIMESTAMPS } from "./inserts/binary-forms.ts";
import { type JsonSheet, QUOTE } from "./json-sheet.ts";
import type { FieldWriter, Kind } from "./kind.ts";
import { TIMESTAMPS } from "./results/arrow-columns.ts";
import { PACKED_AS_JSON } from "./results/pack-forms.ts";

const UTC_SUFFIX = /\+00$/;
const ZEROS = "000000";
const SPACE = 0x20;
const ZERO = 0x30;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;
const ZONE = Buffer.from("+00");
const DAY = "2024-01-02".length;
const SECONDS = "2024-01-02 03:04:05".length;

/** Instants with microseconds, in UTC: `YYYY-MM-DDTHH:MM:SS[.ffffff]Z`. */
export const timestamp: Kind = {
  parse: (value) =>
    typeof value === "string" ? parseTimestamp(value) : typeMismatch("an ISO 8601 timestamp in a string", value),
  parseUrl(text) {
    const parsed = parseTimestamp(text);
    return parsed instanceof ValueError ? undefined : parsed;
  },
  ...PLAIN_IN_URL,
  hasEmptyText: false,
  toJson: quotedJson,
  ...OWN_LITERAL,

  ...storedAs("timestamptz"),
  ...PLAIN_TEXT,
  fromSql: timestampFromSql,
  textWriter: () => timestampToJson,
  fieldWriter: (other) => (sheet, row, start, end) => writeTimestamp(sheet, row, start, end, other),
  castedText: same,
  isJsonValue: false,
  isForeignSql: (value) => `(${value} not between '0001-01-01Z' and '9999-12-31T23:59:59.999999Z')`,
  isWatched: false,

  ...ORDERED,

  literalSql: (value) => typedLiteral(value, "timestamptz"),
  casts: {
    string: isoTimestamp,
    date: (sql) => `(${sql} AT TIME ZONE 'UTC')::date`,
    json: (sql) => `to_json(${isoTimestamp(sql)})`,
  },
  ...PLAIN_NULL,
  printed: null,
  isJsonAlike: true,
  isVector: false,
  aggregates: { ...AGGREGATES, listed: isoTimestamp },
  changes: {},

  ...SHORT,
  ...AS_IS_ON_WIRE,
  binary: BINARY_TIMESTAMPS,
  arrow: TIMESTAMPS,
  pack: PACKED_AS_JSON,

  schema: () => ({ type: "string", format: "date-time" }),
  nullable: orNull,
  example: () => "2026-01-02T03:04:05Z",
  fits: ({ category }) => category === "D",

  samples: {
    type: { kind: "timestamp" },
    values: [
      "1970-01-01T00:00:00Z",
      "0001-01-01T00:00:00Z",
      "9999-12-31T23:59:59.999999Z",
      "2024-02-29T23:59:59.500000Z",
      "2024-03-31T01:00:00.000001Z",
      "1969-12-31T23:59:59.999999Z",
      "2024-12-31T00:00:00.100000Z",
    ],
    random: (dice) => new Date(dice.int(-60_000_000, 250_000_000) * 1000).toISOString(),
  },
};

/** `YYYY-MM-DDTHH:MM:SS[.ffffff]Z`, with a fraction only if it is not zero. */
function isoTimestamp(sql: string): string {
  const text = `to_char(${sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')`;
  return `(regexp_replace(${text}, '[.]000000$', '') || 'Z')`;
}

/** `2024-01-02 03:04:05.6+00` -> `2024-01-02T03:04:05.600000Z`. `infinity` and years before 1 stay PostgreSQL's text. */
function timestampFromSql(text: string): string {
  if (!UTC_SUFFIX.test(text)) return text;
  const plain = text.replace(UTC_SUFFIX, "").replace(" ", "T");
  const dot = plain.indexOf(".");
  return dot < 0 ? `${plain}Z` : `${plain.padEnd(dot + 7, "0")}Z`;
}

/** `2024-01-02 03:04:05.6+00`, as sessions in UTC write it. */
function timestampToJson(text: string): string {
  const end = text.length - ZONE.length;
  const day = text.slice(0, DAY);
  if (end < SECONDS || !text.endsWith("+00") || text[DAY] !== " ") return quotedJson(timestampFromSql(text));
  if (end === SECONDS) return `"${day}T${text.slice(DAY + 1, SECONDS)}Z"`;
  return `"${day}T${text.slice(DAY + 1, end)}${ZEROS.slice(end - SECONDS - 1)}Z"`;
}

/** The same on bytes. */
function writeTimestamp(sheet: JsonSheet, row: Buffer, start: number, end: number, other: FieldWriter): void {
  const length = end - start - ZONE.length;
  const isPlain =
    (length === SECONDS || (length > SECONDS + 1 && length <= SECONDS + 7)) &&
    row[start + DAY] === SPACE &&
    row[end - 3] === ZONE[0] &&
    row[end - 2] === ZONE[1] &&
    row[end - 1] === ZONE[2];
  if (!isPlain) {
    other(sheet, row, start, end);
    return;
  }
  const { bytes } = sheet;
  const first = sheet.at + 1;
  sheet.quoted(row, start, start + length);
  bytes[first + DAY] = LETTER_T;
  let at = sheet.at - 1;
  if (length > SECONDS) for (let digits = length; digits < SECONDS + 7; digits++) bytes[at++] = ZERO;
  bytes[at++] = LETTER_Z;
  bytes[at++] = QUOTE;
  sheet.at = at;
}
