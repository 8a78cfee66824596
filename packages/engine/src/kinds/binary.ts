import type { EngineValue } from "@appdb/contract/types";
import { typeMismatch } from "../values/describe-value.ts";
import { ValueError } from "../values/value-error.ts";
import { AGGREGATES, AS_IS_ON_WIRE, escapeCopy, orNull, PLAIN_IN_URL, same, storedAs, typedLiteral } from "./common.ts";
import { BINARY_BYTES } from "./inserts/binary-forms.ts";
import type { Kind, Value } from "./kind.ts";
import { BYTES } from "./results/arrow-columns.ts";
import { PACKED_AS_JSON } from "./results/pack-forms.ts";

/** Bytes; base64 in JSON. */
export const binary: Kind = {
  parse: parseBase64,
  parseUrl(text) {
    const parsed = parseBase64(text);
    return parsed instanceof ValueError ? undefined : parsed;
  },
  ...PLAIN_IN_URL,
  hasEmptyText: false,
  toJson: (value) => `"${asBuffer(value).toString("base64")}"`,
  fromLiteral: (value) => Buffer.from(String(value), "base64"),
  literalJson: (value) => value,

  ...storedAs("bytea"),
  toSql: hexText,
  toElement: (value) => `"\\\\x${asBuffer(value).toString("hex")}"`,
  toCopy: (value) => escapeCopy(hexText(value)),
  fromSql: bytesOf,
  textWriter: () => (text) => `"${bytesOf(text).toString("base64")}"`,
  fieldWriter: (other) => other,
  castedText: same,
  size: (sql) => `coalesce(octet_length(${sql}), 0)::float8`,
  isJsonValue: false,
  isForeignSql: null,
  isWatched: false,

  index: null,
  key: same,
  isOrdered: false,
  equals: null,
  membership: "any",

  literalSql: (value) =>
    typeof value === "string" ? typedLiteral(hexText(Buffer.from(value, "base64")), "bytea") : undefined,
  casts: {},
  isNull: null,
  printed: null,
  isJsonAlike: false,
  isVector: false,
  aggregates: { ...AGGREGATES, listed: (sql) => `translate(encode(${sql}, 'base64'), E'\\n', '')` },
  changes: {},

  ...AS_IS_ON_WIRE,
  isLong: true,
  binary: BINARY_BYTES,
  arrow: BYTES,
  pack: PACKED_AS_JSON,

  schema: () => ({ type: "string", contentEncoding: "base64" }),
  nullable: orNull,
  example: () => "AAH/",
  fits: ({ type }) => type === "bytea",

  samples: {
    type: { kind: "binary" },
    values: [new Uint8Array(), Uint8Array.of(0), Uint8Array.of(0, 255, 92, 34, 39), Buffer.from("a'b\\\"c")],
    random: null,
  },
};

/** The bytes of a Binary as a Buffer, without a copy. */
export function asBuffer(value: EngineValue): Buffer {
  if (!(value instanceof Uint8Array)) throw new TypeError("A Binary value is not bytes.");
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

function hexText(value: Value): string {
  return `\\x${asBuffer(value).toString("hex")}`;
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text.slice(2), "hex");
}

/** Base64 of RFC 4648 section 4, with padding. Any other form may have been truncated or mistyped. */
function parseBase64(value: unknown): EngineValue | ValueError {
  if (typeof value !== "string") return typeMismatch("bytes as base64 in a string", value);
  const bytes = Buffer.from(value, "base64");
  return bytes.toString("base64") === value ? bytes : typeMismatch("base64 (A-Z a-z 0-9 + /, padded with =)", value);
}
