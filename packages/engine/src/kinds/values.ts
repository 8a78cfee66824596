import { type ColumnType, displayType, type EngineValue, type TypeKind } from "@appdb/contract/types";
import { ValueError } from "../values/value-error.ts";
import { quoteElement } from "./common.ts";
import type { Json, Kind, Literal, RawText } from "./kind.ts";
import { KINDS, kindOf } from "./kinds.ts";
import { isMedia } from "./media.ts";

/** Functions on single values by type. For many values of one type, get the function from the kind once instead. */

/** Parses a JSON value that is not null into the engine's stored form. */
export function parseValue(type: ColumnType, value: unknown, raw: RawText): EngineValue | ValueError {
  return kindOf(type).parse(value, raw, type);
}

/** Parses the text of a URL's parameter or of a form's field into the engine's stored form. */
export function parseUrlText(type: ColumnType, text: string): EngineValue | ValueError {
  const { parseUrl, urlForm } = kindOf(type);
  const parsed = parseUrl(text, type);
  if (parsed !== undefined) return parsed;
  return new ValueError(`Expected ${displayType(type, false)}, got ${JSON.stringify(shorten(text))}${urlForm}.`);
}

/** The field `name` of a form. Media are given as in JSON, and mostly meant as a file. */
export function parseFormField(name: string, type: ColumnType, text: string): EngineValue | ValueError {
  if (!isMedia(type.kind)) return parseUrlText(type, text);
  if (BINARY.test(text)) {
    return new ValueError(`The part has the content of a file, and no filename. Send a file: curl -F ${name}=@file`);
  }
  const parsed = kindOf(type).parse(text, () => JSON.stringify(text), type);
  if (!(parsed instanceof ValueError) || text.includes("://")) return parsed;
  const file = FILE_NAME.test(text) ? text : "file";
  return new ValueError(`${parsed.detail} To send the file itself: curl -F ${name}=@${file}`);
}

/** What neither an address nor the name of a file has. */
const BINARY = /[^\P{Cc}\t\r\n]|\ufffd/u;
const FILE_NAME = /^[\w./-]{1,100}$/;

function shorten(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}

/** Writes a stored value as JSON. */
export function valueToJson(kind: TypeKind, value: EngineValue): string {
  return value === null ? "null" : KINDS[kind].toJson(value);
}

/** Writes one value as PostgreSQL's text of its type. */
export function toSqlText(type: ColumnType, value: Exclude<EngineValue, null>): string {
  return kindOf(type).toSql(value, type);
}

/** Parses PostgreSQL's text of a stored value (session in UTC and ISO style). */
export function fromSqlText(type: ColumnType, text: string): EngineValue {
  return kindOf(type).fromSql(text, type);
}

/** A manifest constant in the engine's form. */
export function literalValue({ type, value }: TypedLiteral): EngineValue {
  return value === null ? null : kindOf(type).fromLiteral(value);
}

/** A manifest constant in JSON. */
export function literalJson({ type, value }: TypedLiteral): Json {
  return value === null ? null : kindOf(type).literalJson(value);
}

/** A literal of an expression as SQL of its type; undefined when it is left to Python. */
export function literalSql(value: Literal | null, type: ColumnType): string | undefined {
  const kind = kindOf(type);
  return value === null ? `NULL::${kind.storage(type)}` : kind.literalSql(value, type);
}

/**
 * Why a literal that a client wrote is not of its type; undefined for a valid one. Looks at literals that have the form
 * of JSON: PostgreSQL would take more texts, such as `infinity` and `now` for a timestamp.
 */
export function findLiteralProblem({ type, value }: TypedLiteral): string | undefined {
  const { hasEmptyText: isText, literalJson: toJson } = kindOf(type);
  if (isText || typeof value !== "string" || toJson(value) !== value) return undefined;
  const parsed = parseValue(type, value, () => JSON.stringify(value));
  return parsed instanceof ValueError ? parsed.detail : undefined;
}

export interface TypedLiteral {
  readonly type: ColumnType;
  readonly value: Literal | null;
}

/** Writes one column of many rows as PostgreSQL's array text in one pass. The driver's own code is several times
 *  slower. */
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

/** Calls the most frequent writers directly, so that the compiler can inline them. */
function elementText(toElement: Kind["toElement"], value: EngineValue): string {
  if (value === null) return "NULL";
  if (toElement === null) return `${value}`;
  return toElement === quoteElement ? quoteElement(value) : toElement(value);
}
