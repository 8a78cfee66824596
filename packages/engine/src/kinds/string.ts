import type { EngineValue } from "@appdb/contract/types";
import { typeMismatch } from "../values/describe-value.ts";
import { parseText } from "../values/parse-text.ts";
import {
  AGGREGATES,
  AS_IS_ON_WIRE,
  COLLATION,
  escapeCopy,
  matching,
  ORDERED,
  OWN_LITERAL,
  orNull,
  PLAIN_IN_URL,
  PLAIN_NULL,
  quoteElement,
  same,
  storedAs,
  toJsonSql,
  typedLiteral,
} from "./common.ts";
import { BINARY_TEXTS } from "./inserts/binary-forms.ts";
import { type JsonSheet, QUOTE } from "./json-sheet.ts";
import type { FieldWriter, Kind, Value } from "./kind.ts";
import { TEXTS } from "./results/arrow-columns.ts";
import { PACKED_TEXTS } from "./results/pack-forms.ts";

const BACKSLASH = 0x5c;
const SPACE = 0x20;
/** Characters that JSON escapes: quotes, backslashes, control characters. PostgreSQL holds no lone surrogates. */
const NEEDS_ESCAPE = /[^ !#-[\]-\uffff]/;
/** The same for any text: lone surrogates are escaped too. */
const UNLIKE_JSON = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;
/** The same as a lookup table by byte. */
const ESCAPED = Uint8Array.from({ length: 256 }, (_none, byte) =>
  byte < SPACE || byte === QUOTE || byte === BACKSLASH ? 1 : 0,
);

/** Unicode text of any length. */
export const string: Kind = {
  parse: (value) => (typeof value === "string" ? parseText(value) : typeMismatch("a string", value)),
  parseUrl: parseText,
  ...PLAIN_IN_URL,
  hasEmptyText: true,
  toJson: textToJson,
  ...OWN_LITERAL,

  ...storedAs("text", COLLATION),
  toSql: String,
  toElement: quoteElement,
  toCopy: escapeCopy,
  fromSql: same,
  textWriter: () => stringToJson,
  fieldWriter: (other) => (sheet, row, start, end) => writeString(sheet, row, start, end, other),
  castedText: same,
  size: (sql) => `coalesce(octet_length(${sql}), 0)::float8`,
  isJsonValue: true,
  isForeignSql: null,
  isWatched: true,

  ...ORDERED,
  index: "prefix",
  key: hashOfText,

  literalSql: (value) => typedLiteral(value, "text"),
  casts: {
    int: matching("^[+-]?[0-9]{1,18}$", "int8"),
    float: matching("^[+-]?[0-9]{1,400}([.][0-9]{1,400})?([eE][+-]?[0-9]{1,3})?$", "float8"),
    date: matching("^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "date"),
    timestamp: matching(
      "^[12][0-9]{3}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.]([0-9]{3}|[0-9]{6}))?Z$",
      "timestamptz",
    ),
    uuid: matching("^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$", "uuid"),
    json: toJsonSql,
  },
  ...PLAIN_NULL,
  printed: same,
  isJsonAlike: true,
  isVector: false,
  aggregates: AGGREGATES,
  changes: {},

  ...AS_IS_ON_WIRE,
  isLong: true,
  binary: BINARY_TEXTS,
  arrow: TEXTS,
  pack: PACKED_TEXTS,

  schema: () => ({ type: "string" }),
  nullable: orNull,
  example: () => "text",
  fits: ({ category }) => category === "E",

  samples: {
    type: { kind: "string" },
    values: textSamples(),
    random(dice, codePoint) {
      if (dice.next() < 0.3) return String(dice.int(-(10 ** 6), 10 ** 6) / dice.pick([1, 1, 8]));
      return String.fromCodePoint(...Array.from({ length: dice.int(1, 6) }, codePoint));
    },
  },
};

/** The sha256 of a text's UTF-8 bytes. convert_to() is not immutable and cannot be in an index. A cast of the text
 *  with doubled backslashes gives the same bytes and can. */
export function hashOfText(text: string): string {
  return String.raw`sha256(replace(${text}, '\', '\\')::bytea)`;
}

/** Several times faster than JSON.stringify where both write the same. */
function textToJson(value: Value): string {
  return UNLIKE_JSON.test(value as string) ? JSON.stringify(value) : `"${value}"`;
}

function stringToJson(text: string): string {
  return NEEDS_ESCAPE.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** Copies up to the first character that JSON escapes. A text with such a character is written again. */
function writeString(sheet: JsonSheet, row: Buffer, start: number, end: number, other: FieldWriter): void {
  const { bytes } = sheet;
  let { at } = sheet;
  bytes[at++] = QUOTE;
  for (let from = start; from < end; from++) {
    const byte = row[from] as number;
    if (ESCAPED[byte] === 1) {
      other(sheet, row, start, end);
      return;
    }
    bytes[at++] = byte;
  }
  bytes[at++] = QUOTE;
  sheet.at = at;
}

/** Limits, signs, spaces, and letters whose case depends on length or position. */
function textSamples(): readonly EngineValue[] {
  return [
    "",
    " ",
    "  a  ",
    "\t\n\v\f\r",
    "\u001c\u001f\u0085\u00a0\u1680\u2000\u200a\u2028\u202f\u205f\u3000x\u3000",
    "\u200bx",
    "a",
    "A",
    "abc",
    "ABC",
    "aXbXc",
    "%_\\",
    "'",
    '"',
    "\\",
    "$1",
    "a'b\"c\\d",
    "{}",
    "{{0}}",
    "None",
    "True",
    "ß",
    "ẞ",
    "İ",
    "ı",
    "iİ",
    "Σ",
    "ΑΣ",
    "ΑΣ ",
    "σς",
    "ΑΣΑ",
    "Σ.",
    "a\u0345Σ",
    "ǆ",
    "ǅa",
    "ﬁn",
    "ŉ",
    "ͅ",
    "ᾳ",
    "ΐ",
    "e\u0301",
    "\u0301e",
    "👩‍👩‍👧‍👦x",
    "🇩🇪",
    "\ud83d\ude00".repeat(3),
    "𐐀𐐨",
    "ᏸ",
    "Ა",
    "ა",
    "ー",
    "١٢",
    "\u007f\u0001",
    "0",
    "-0",
    "+7",
    "007",
    "12",
    "-12",
    " 12",
    "12 ",
    "1_000",
    "0x10",
    "1e5",
    "1.5",
    "-1.5e-3",
    ".5",
    "5.",
    "nan",
    "inf",
    "9223372036854775807",
    "9223372036854775808",
    "1e400",
    "1e-400",
    "१२",
    "2024-02-29",
    "2023-02-29",
    "0000-01-01",
    "9999-12-31",
    "20240229",
    "2024-02-29T12:30:59.123456Z",
    "2024-02-29T24:00:00Z",
    "2024-02-29T12:30:60Z",
    "2024-02-29T12:30:59.123Z",
    "2024-02-29T12:30:59+02:00",
    "2024-02-29 12:30",
    "true",
    "null",
    "[1]",
    "0189dcf9-7e8b-7000-8000-000000000000",
    "0189DCF9-7E8B-7000-8000-00000000000F",
    "{0189dcf97e8b70008000000000000000}",
  ];
}
