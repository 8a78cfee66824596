import type { ColumnType, EngineValue, TypeKind } from "@appdb/contract/types";
import type { WireValue } from "@appdb/contract/worker-protocol";
import type { ValueError } from "../values/value-error.ts";
import type { BinaryForm } from "./inserts/binary-forms.ts";
import type { JsonSheet } from "./json-sheet.ts";
import type { ArrowForm } from "./results/arrow-columns.ts";
import type { PackForm } from "./results/pack-forms.ts";
import type { TypeChange } from "./type-change.ts";

/** Returns the source text of the value being parsed. JSON.parse loses digits and key order. */
export type RawText = () => string;
/** A column value that is not null. */
export type Value = Exclude<EngineValue, null>;
/** A value as a literal of a manifest. */
export type Literal = string | number | boolean;
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };
/** Converts the SQL of a value to other SQL. */
export type SqlForm = (sql: string) => string;
/** Writes one field of a row as JSON. The sheet has room for its text and a little more. */
export type FieldWriter = (sheet: JsonSheet, row: Buffer, start: number, end: number) => void;

/** A column of a foreign table: its type, and PostgreSQL's category (S text, N number, B boolean, D date, A array, U
 *  other). */
export interface ForeignColumn {
  readonly type: string;
  readonly category: string;
}

/** SQL of an aggregate over the SQL of its argument. `over` is empty, or the OVER clause of a window. */
export type AggregateForm = (sql: string, over: string) => string;

/** Aggregates as SQL. Python refuses those that a kind lacks. */
export interface Aggregates {
  readonly count: AggregateForm;
  readonly sum: AggregateForm;
  readonly mean: AggregateForm;
  readonly min: AggregateForm;
  readonly max: AggregateForm;
  /** The value as a JSON list element that parses to the same value: an integral Float keeps its decimal point. */
  readonly listed: SqlForm;
}

/** The choices of a generator of test values. */
export interface Dice {
  next(): number;
  int(from: number, to: number): number;
  pick<T>(values: readonly T[]): T;
}

/**
 * Everything that the engine knows about the values of one kind of column type. Other code gets it from `kindOf`, once
 * per column where speed matters. No function uses `this` or state.
 */
export interface Kind {
  // JSON and URLs

  /** Parses a JSON value that is not null into the value to store. */
  readonly parse: (value: unknown, raw: RawText, type: ColumnType) => EngineValue | ValueError;
  /** Parses the text of a URL parameter; undefined for a text of another kind. */
  readonly parseUrl: (text: string, type: ColumnType) => EngineValue | ValueError | undefined;
  /** Joins the texts of a repeated URL parameter; null: the last one counts. */
  readonly joinUrl: ((texts: readonly string[]) => string) | null;
  /** Appended to the error for a URL text: how to write a value. Empty where the type is enough. */
  readonly urlForm: string;
  /** Whether an empty text in a URL is a value. Otherwise it is null where null is allowed. */
  readonly hasEmptyText: boolean;
  /** Writes a value as JSON: every digit of an Int, and floats that readers recognise as floats. */
  readonly toJson: (value: Value) => string;
  /** Converts a manifest literal to a value. */
  readonly fromLiteral: (value: Literal) => EngineValue;
  /** Converts a manifest literal to JSON, as far as JSON readers keep it. */
  readonly literalJson: (value: Literal) => Json;

  // PostgreSQL

  /** The stored type, without its collation. */
  readonly storage: (type: ColumnType) => string;
  /** The collation after the type in SQL; empty for values without one. */
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
  /** Parses PostgreSQL's text of a stored value (session in UTC and ISO style). */
  readonly fromSql: (text: string, type: ColumnType) => EngineValue;
  /** Compiles the direct conversion from PostgreSQL's text to JSON. */
  readonly textWriter: (type: ColumnType) => (text: string) => string;
  /** The same on bytes; `other` writes any text. */
  readonly fieldWriter: (other: FieldWriter) => FieldWriter;
  /** SQL: whether a stored value is none of the kind's, because a person wrote it by SQL; null: PostgreSQL has no others. */
  readonly isForeignSql: ((value: string, type: ColumnType) => string) | null;
  /** Converts the result of a cast to text into PostgreSQL's text of the value. */
  readonly castedText: SqlForm;
  /** SQL of the approximate memory size of a value that may be long; null for short ones. */
  readonly size: SqlForm | null;
  /** Whether PostgreSQL's `json_agg` writes the values in the engine's form. */
  readonly isJsonValue: boolean;
  /** Whether the text is equal in every PostgreSQL session, so that triggers can send it. */
  readonly isWatched: boolean;

  // Order and indexes

  /** The content of a B-tree: the value, or a prefix of a text; null: not indexable. */
  readonly index: "value" | "prefix" | null;
  /** The expression that makes a key unique. */
  readonly key: SqlForm;
  /** Whether `=`, `<` and related operators mean the same in SQL and in Python. */
  readonly isOrdered: boolean;
  /** Equality in SQL of stored values where `=` does not apply. */
  readonly equals: ((one: string, other: string) => string) | null;
  /** How `op.in` searches: `any` compares with an array, `each` with every option; null: in Python. */
  readonly membership: "any" | "each" | null;

  // Expressions

  /** A manifest literal as SQL of its type; undefined if it is left to Python. */
  readonly literalSql: (value: Literal, type: ColumnType) => string | undefined;
  /** Conversions that SQL makes like Python, by target kind. Others are left to Python. */
  readonly casts: Readonly<Partial<Record<TypeKind, SqlForm>>>;
  /** Null tests in SQL; null: in Python. */
  readonly isNull: { readonly is: SqlForm; readonly isNot: SqlForm } | null;
  /** The text of a non-null value in `str.format`; null: Python writes it. */
  readonly printed: SqlForm | null;
  /** Whether a conversion to Json gives exactly the text of Python. */
  readonly isJsonAlike: boolean;
  /** Whether a value can be compared with the vectors of an embedding index. */
  readonly isVector: boolean;
  readonly aggregates: Aggregates;
  /** Lossless changes of a stored column's type, by target kind. */
  readonly changes: Readonly<Partial<Record<TypeKind, (from: ColumnType, to: ColumnType) => TypeChange | undefined>>>;

  // Workers

  /** Conversion to and from the worker protocol; null: unchanged. */
  readonly wire: {
    readonly to: (value: EngineValue, type: ColumnType) => WireValue;
    readonly from: (value: WireValue, type: ColumnType) => EngineValue;
  } | null;
  /** The number property that msgpack would lose: the width of integers, or the sign of a zero. */
  readonly packed: "integer" | "double" | null;
  /** Whether values may be long, so that their lengths limit a frame. */
  readonly isLong: boolean;

  // Inserts and results of programs

  /** How COPY's binary format takes values; null: only its text format takes them. */
  readonly binary: BinaryForm | null;

  /** How results travel in Arrow's format. */
  readonly arrow: ArrowForm;
  /** How results travel in msgpack. */
  readonly pack: PackForm;

  // Descriptions

  /** The type in OpenAPI. */
  readonly schema: (type: ColumnType) => JsonObject;
  /** The schema that also allows null. */
  readonly nullable: (schema: JsonObject) => JsonObject;
  /** A value of the type as JSON; undefined if it would be too long. */
  readonly example: (type: ColumnType) => Json | undefined;
  /** Whether a column of another database can hold such values; texts can hold all. */
  readonly fits: (column: ForeignColumn) => boolean;

  // Tests

  /** The type of the kind in random tests, values where SQL and Python may differ, and further ones. */
  readonly samples: {
    readonly type: ColumnType;
    readonly values: readonly EngineValue[];
    readonly random: ((dice: Dice, codePoint: () => number) => EngineValue) | null;
  };
}
