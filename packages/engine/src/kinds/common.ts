import { quoteLiteral } from "../sql/quote.ts";
import { raiseWhere } from "../sql/raise-where.ts";
import type { Aggregates, JsonObject, Kind, Literal, SqlForm, Value } from "./kind.ts";

/** Parts that several kinds share, by topic. A kind picks the matching ones and defines the rest. */

/** Text always has the one collation that agrees with Python. */
export const COLLATION = " collate pg_catalog.pg_unicode_fast";

/** Kinds of one storage type, which array parameters use too. */
export function storedAs(storage: string, collation = ""): Pick<Kind, "storage" | "collation" | "cast" | "transport"> {
  return {
    storage: () => storage,
    collation: () => collation,
    cast: (sql) => `(${sql})::${storage}${collation}`,
    transport: null,
  };
}

/** Short values: numbers, times, identifiers. */
export const SHORT = { size: null, isLong: false } as const satisfies Partial<Kind>;

/** Values whose PostgreSQL text equals the engine's form, without special characters of arrays or COPY. */
export const PLAIN_TEXT = {
  toSql: plainText,
  toElement: null,
  toCopy: plainText,
} as const satisfies Partial<Kind>;

/** Values that workers take unchanged. */
export const AS_IS_ON_WIRE = { wire: null, packed: null } as const satisfies Partial<Kind>;

/** Values whose manifest literals are the values themselves. */
export const OWN_LITERAL = {
  fromLiteral: (value: Literal) => value,
  literalJson: (value: Literal) => value,
} as const satisfies Partial<Kind>;

/** Values that a B-tree can hold and that SQL compares like Python. */
export const ORDERED = {
  index: "value",
  key: same,
  isOrdered: true,
  equals: null,
  membership: "any",
} as const satisfies Partial<Kind>;

/** Values with one form in URLs, and no repetition. */
export const PLAIN_IN_URL = { joinUrl: null, urlForm: "" } as const satisfies Partial<Kind>;

/** Only SQL's null is null. */
export const PLAIN_NULL = {
  isNull: { is: (sql: string) => `(${sql} IS NULL)`, isNot: (sql: string) => `(${sql} IS NOT NULL)` },
} as const satisfies Partial<Kind>;

export const AGGREGATES: Aggregates = {
  count: (sql, over) => `count(${sql})${over}`,
  sum: (sql, over) => `sum(${sql})${over}`,
  mean: (sql, over) => `avg(${sql})${over}`,
  min: (sql, over) => `min(${sql})${over}`,
  max: (sql, over) => `max(${sql})${over}`,
  listed: same,
};

function plainText(value: Value): string {
  return `${value}`;
}

/** Returns the SQL unchanged. */
export function same(sql: string): string {
  return sql;
}

/** A schema that also allows null. */
export function orNull({ type, ...schema }: JsonObject): JsonObject {
  return type === undefined ? schema : { ...schema, type: [type, "null"] };
}

/** A value whose JSON is its quoted text, without escapes. */
export function quotedJson(value: Value): string {
  return `"${value}"`;
}

/** A text as a literal of a type; undefined if PostgreSQL cannot hold it. */
export function typedLiteral(value: Literal, storage: string): string | undefined {
  return typeof value !== "string" || value.includes("\0") ? undefined : `${quoteLiteral(value)}::${storage}`;
}

/** A conversion of texts that match a pattern; others raise. */
export function matching(pattern: string, type: string): SqlForm {
  return (sql) => raiseWhere(`(${sql} !~ '${pattern}')`, `length(${sql})`, type, `${sql}::${type}`);
}

export function toJsonSql(sql: string): string {
  return `to_json(${sql})`;
}

const COPY_ESCAPED = /[\\\t\n\r]/;
const ALL_COPY_ESCAPED = /[\\\t\n\r]/g;
const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/** Writes a text as a field of COPY's text format. */
export function escapeCopy(value: Value): string {
  const text = value as string;
  return COPY_ESCAPED.test(text)
    ? text.replace(ALL_COPY_ESCAPED, (character) => ESCAPES[character] ?? character)
    : text;
}

const ELEMENT_ESCAPED = /["\\]/;
const ALL_ELEMENT_ESCAPED = /["\\]/g;
/** Control characters and lone surrogates: characters that JSON may escape differently than PostgreSQL arrays. */
const UNLIKE_JSON = /[^ -~\u00a0-\ud7ff\ue000-\uffff]/;

/** Writes a text as an element of an array's text. */
export function quoteElement(value: Value): string {
  const text = value as string;
  if (!ELEMENT_ESCAPED.test(text)) return `"${text}"`;
  // Several times faster where both write the same.
  return UNLIKE_JSON.test(text) ? `"${text.replace(ALL_ELEMENT_ESCAPED, "\\$&")}"` : JSON.stringify(text);
}
