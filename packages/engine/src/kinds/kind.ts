import type { ColumnType, EngineValue, TypeKind } from "@appdb/contract/types";
import type { WireValue } from "@appdb/contract/worker-protocol";
import type { ValueError } from "../values/value-error.ts";
import type { JsonSheet } from "./json-sheet.ts";
import type { TypeChange } from "./type-change.ts";

/** Gives the source text of the value being read: what JSON.parse made of it has lost digits and key order. */
export type RawText = () => string;
/** A value of a column that is not null. */
export type Value = Exclude<EngineValue, null>;
/** A value as a literal of a manifest. */
export type Literal = string | number | boolean;
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };
/** SQL of a value turned into other SQL. */
export type SqlForm = (sql: string) => string;
/** Writes one field of a row as JSON. The sheet has room for its text and a little more. */
export type FieldWriter = (sheet: JsonSheet, row: Buffer, start: number, end: number) => void;

/** A column of a foreign table: its type, and PostgreSQL's category (S text, N number, B boolean, D date, A array, U other). */
export interface ForeignColumn {
  readonly type: string;
  readonly category: string;
}

/** Aggregates as SQL over the SQL of their argument. Python refuses those that a kind does not have. */
export interface Aggregates {
  readonly count: SqlForm;
  readonly sum: SqlForm;
  readonly mean: SqlForm;
  readonly min: SqlForm;
  readonly max: SqlForm;
  /** The value as an element of a JSON list that reads back as the same value: a whole Float keeps its point. */
  readonly listed: SqlForm;
}

/** The choices that a generator of test values makes. */
export interface Dice {
  next(): number;
  int(from: number, to: number): number;
  pick<T>(values: readonly T[]): T;
}

/**
 * Everything that the engine knows about the values of one kind of column type. The rest of the product asks for it here
 * (`kindOf`), once per column where speed matters: all functions are free of `this` and of state.
 */
export interface Kind {
  // JSON and URLs

  /** Reads a parsed JSON value, which is not null, as the value that will be stored. */
  readonly parse: (value: unknown, raw: RawText, type: ColumnType) => EngineValue | ValueError;
  /** Reads the text of a parameter in a URL; undefined for a text of another kind. */
  readonly parseUrl: (text: string, type: ColumnType) => EngineValue | ValueError | undefined;
  /** Joins the texts of a parameter that a URL repeats; null: the last one counts. */
  readonly joinUrl: ((texts: readonly string[]) => string) | null;
  /** Ends the refusal of a text in a URL with how a value is written there; empty where the type says it. */
  readonly urlForm: string;
  /** Whether an empty text in a URL is a value; otherwise it is null where null is allowed. */
  readonly hasEmptyText: boolean;
  /** Writes a value as JSON: every digit of an Int, floats that stay floats for readers that tell them apart. */
  readonly toJson: (value: Value) => string;
  /** A literal of a manifest as a value. */
  readonly fromLiteral: (value: Literal) => EngineValue;
  /** A literal of a manifest as JSON, as far as JSON readers keep it. */
  readonly literalJson: (value: Literal) => Json;

  // PostgreSQL

  /** The type that values are stored as, without its collation. */
  readonly storage: (type: ColumnType) => string;
  /** The collation as it follows the type in SQL; empty for values that have none. */
  readonly collation: (type: ColumnType) => string;
  /** Casts SQL to the stored type. */
  readonly cast: (sql: string, type: ColumnType) => string;
  /** Type of one value in an array parameter; null: the stored type. */
  readonly transport: string | null;
  /** Writes a value as PostgreSQL's text of its type. */
  readonly toSql: (value: Value, type: ColumnType) => string;
  /** The same as an element of an array's text; null: the value as JavaScript prints it. */
  readonly toElement: ((value: Value) => string) | null;
  /** The same as a field of COPY's text format. */
  readonly toCopy: (value: Value, type: ColumnType) => string;
  /** Reads PostgreSQL's text of a stored value (session in UTC and ISO style). */
  readonly fromSql: (text: string, type: ColumnType) => EngineValue;
  /** Compiles the way from PostgreSQL's text straight to JSON. */
  readonly textWriter: (type: ColumnType) => (text: string) => string;
  /** The same over bytes; `other` writes any text. */
  readonly fieldWriter: (other: FieldWriter) => FieldWriter;
  /** PostgreSQL's text of a value from what a cast to text gives. */
  readonly castedText: SqlForm;
  /** SQL of about what a value takes in memory, for values that may be long; null for short ones. */
  readonly size: SqlForm | null;
  /** Whether PostgreSQL's `json_agg` writes the values as the engine has them. */
  readonly isJsonValue: boolean;
  /** Whether the text is the same in every session of PostgreSQL, so that triggers can tell it. */
  readonly isWatched: boolean;

  // Order and indexes

  /** What a B-tree holds: the value, or the first characters of a text; null: it cannot be indexed. */
  readonly index: "value" | "prefix" | null;
  /** What a key is unique by. */
  readonly key: SqlForm;
  /** Whether `=`, `<` and their kin mean the same in SQL and in Python. */
  readonly isOrdered: boolean;
  /** Equality in SQL of stored values where `=` is not it. */
  readonly equals: ((one: string, other: string) => string) | null;
  /** How `op.in` looks for a value: `any` compares with an array, `each` with every option; null: Python does. */
  readonly membership: "any" | "each" | null;

  // Expressions

  /** A literal of a manifest as SQL of its type; undefined for one that is left to Python. */
  readonly literalSql: (value: Literal, type: ColumnType) => string | undefined;
  /** Conversions that SQL makes as Python does, by the kind wanted. Others are left to Python. */
  readonly casts: Readonly<Partial<Record<TypeKind, SqlForm>>>;
  /** Tests for null in SQL; null: Python has them. */
  readonly isNull: { readonly is: SqlForm; readonly isNot: SqlForm } | null;
  /** The text of a value, which is not null, in `str.format`; null: Python writes it. */
  readonly printed: SqlForm | null;
  /** Whether the text of a conversion to Json is the very text that Python writes. */
  readonly isJsonAlike: boolean;
  readonly aggregates: Aggregates;
  /** Changes of a stored column's type that keep every value, by the kind wanted. */
  readonly changes: Readonly<Partial<Record<TypeKind, (from: ColumnType, to: ColumnType) => TypeChange | undefined>>>;

  // Workers

  /** A value as it crosses to a worker, and back; null: as it is. */
  readonly wire: {
    readonly to: (value: EngineValue, type: ColumnType) => WireValue;
    readonly from: (value: WireValue, type: ColumnType) => EngineValue;
  } | null;
  /** What msgpack would lose of numbers: the width of integers, the sign of a zero. */
  readonly packed: "integer" | "double" | null;
  /** Whether values may be long, so that a frame is cut by their lengths. */
  readonly isLong: boolean;

  // Descriptions

  /** The type in OpenAPI. */
  readonly schema: (type: ColumnType) => JsonObject;
  /** The schema that takes null too. */
  readonly nullable: (schema: JsonObject) => JsonObject;
  /** A value of the type as JSON; undefined where one would be too long. */
  readonly example: (type: ColumnType) => Json | undefined;
  /** Whether a column of another database can hold such values; texts can hold all. */
  readonly fits: (column: ForeignColumn) => boolean;

  // Tests

  /** The type that stands for the kind in random tests, values at which SQL and Python may part, and further ones. */
  readonly samples: {
    readonly type: ColumnType;
    readonly values: readonly EngineValue[];
    readonly random: ((dice: Dice, codePoint: () => number) => EngineValue) | null;
  };
}
