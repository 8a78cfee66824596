import type { ColumnType, EngineValue, TypeKind } from "@appdb/contract/types";
import type { ValueError } from "../values/value-error.ts";
import { quoteElement } from "./common.ts";
import type { Json, Kind, Literal, RawText } from "./kind.ts";
import { KINDS, kindOf } from "./kinds.ts";

/** Single values by their type. Where many values of one type are at hand, ask the kind for its function once instead. */

/** Reads a parsed JSON value, which is not null, as a value of the type: the engine's form, as it will be stored. */
export function parseValue(type: ColumnType, value: unknown, raw: RawText): EngineValue | ValueError {
  return kindOf(type).parse(value, raw, type);
}

/** Writes a stored value as JSON. */
export function valueToJson(kind: TypeKind, value: EngineValue): string {
  return value === null ? "null" : KINDS[kind].toJson(value);
}

/** Writes one value as PostgreSQL's text of its type. */
export function toSqlText(type: ColumnType, value: Exclude<EngineValue, null>): string {
  return kindOf(type).toSql(value, type);
}

/** Reads PostgreSQL's text of a stored value (session in UTC and ISO style) as the engine's value. */
export function fromSqlText(type: ColumnType, text: string): EngineValue {
  return kindOf(type).fromSql(text, type);
}

/** A constant as the manifest writes it, in the engine's form. */
export function literalValue({ type, value }: TypedLiteral): EngineValue {
  return value === null ? null : kindOf(type).fromLiteral(value);
}

/** A constant as the manifest writes it, in JSON. */
export function literalJson({ type, value }: TypedLiteral): Json {
  return value === null ? null : kindOf(type).literalJson(value);
}

/** A literal of an expression tree as SQL of its type; undefined when the value is left to Python. */
export function literalSql(value: Literal | null, type: ColumnType): string | undefined {
  const kind = kindOf(type);
  return value === null ? `NULL::${kind.storage(type)}` : kind.literalSql(value, type);
}

interface TypedLiteral {
  readonly type: ColumnType;
  readonly value: Literal | null;
}

/** Writes one column of many rows as PostgreSQL's array text, made in one pass: the driver's own is several times slower. */
export function arrayText(kind: TypeKind, rows: readonly (readonly EngineValue[])[], column: number): string {
  const { toElement } = KINDS[kind];
  let text = "{";
  for (let index = 0; index < rows.length; index++) {
    if (index > 0) text += ",";
    text += elementText(toElement, rows[index]?.[column] ?? null);
  }
  return `${text}}`;
}

/** Writes the values of one column as PostgreSQL's array text. */
export function columnText(kind: TypeKind, values: readonly EngineValue[]): string {
  const { toElement } = KINDS[kind];
  let text = "{";
  for (let index = 0; index < values.length; index++) {
    if (index > 0) text += ",";
    text += elementText(toElement, values[index] ?? null);
  }
  return `${text}}`;
}

/** The most frequent writers are called directly, so that the compiler can inline them. */
function elementText(toElement: Kind["toElement"], value: EngineValue): string {
  if (value === null) return "NULL";
  if (toElement === null) return `${value}`;
  return toElement === quoteElement ? quoteElement(value) : toElement(value);
}
