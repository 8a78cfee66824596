import type { ManifestColumn } from "@appdb/contract/manifest";
import type { ColumnType } from "@appdb/contract/types";
import type { Json, JsonObject } from "../kinds/kind.ts";
import { kindOf } from "../kinds/kinds.ts";
import { literalJson } from "../kinds/values.ts";

export type OpenApiDocument = JsonObject;

/** The JSON Schema of a type, with an example. */
export function valueSchema(type: ColumnType, nullable: boolean): { readonly [key: string]: Json } {
  const kind = kindOf(type);
  const schema = { ...kind.schema(type), ...examplesOf(type) };
  return nullable ? kind.nullable(schema) : schema;
}

/** The `examples` keyword for a type; nothing if a value would be too long or cannot be made up. */
export function examplesOf(type: ColumnType): { readonly examples?: readonly Json[] } {
  const value = kindOf(type).example(type);
  return value === undefined ? {} : { examples: [value] };
}

const OCTETS = "application/octet-stream";

/**
 * The content of a response that is a file of a media column. Its range of types comes first; generators of clients
 * recognize files by the second entry.
 */
export function fileContent(type: ColumnType | undefined): JsonObject {
  const content = type === undefined ? undefined : kindOf(type).schema(type).contentMediaType;
  const range = typeof content === "string" && content !== OCTETS ? content : "*/*";
  return { [range]: { schema: FILE_SCHEMA }, [OCTETS]: { schema: FILE_SCHEMA } };
}

/** The bytes of a file (OpenAPI 3.1: a string whose encoding is not JSON's). Generators of clients know the format of 3.0. */
export const FILE_SCHEMA: JsonObject = { type: "string", format: "binary", contentMediaType: OCTETS };

/** The schema of an object. */
export interface ObjectSchema {
  readonly type: "object";
  readonly properties: JsonObject;
  readonly [key: string]: Json;
}

/** An object with some columns of a table. */
export function objectSchema(
  columns: ReadonlyMap<string, ManifestColumn>,
  names: readonly string[],
  side: Side,
): ObjectSchema {
  const chosen = names.flatMap((name) => columns.get(name) ?? []);
  return {
    type: "object",
    properties: Object.fromEntries(chosen.map((column) => [column.name, withDefault(column, side)])),
    required: chosen
      .filter((column) => side !== "input" || !(column.nullable || column.default != null))
      .map((column) => column.name),
    additionalProperties: false,
  };
}

/** `input` is a new row and shows defaults; `change` is an update. `key` and `match`: every member is required, and
 *  a matched computed column can be null. */
export type Side = "input" | "change" | "key" | "match" | "output" | "failing output";

function withDefault(column: ManifestColumn, side: Side): Json {
  const schema = columnJsonSchema(mayFail(column, side));
  const expr = side === "input" ? column.default?.expr : undefined;
  return expr?.node === "literal" ? { ...schema, default: literalJson(expr) } : schema;
}

/** A failed cell is null, whatever the type of its column. */
function mayFail(column: ManifestColumn, side: Side): ManifestColumn {
  return (side === "failing output" || side === "match") && column.computed !== null && !column.primary_key
    ? { ...column, nullable: true }
    : column;
}

function columnJsonSchema(column: ManifestColumn): { readonly [key: string]: Json } {
  if (column.type.schema !== undefined) return jsonSchema(column, column.type.schema as { [key: string]: Json });
  return {
    ...valueSchema(column.type, column.nullable),
    ...(column.comment === null ? {} : { description: column.comment }),
  };
}

/** A schema of the application stays as it is. Its references, if any, point into itself. */
function jsonSchema(
  column: ManifestColumn,
  schema: { readonly [key: string]: Json },
): { readonly [key: string]: Json } {
  const own =
    "$id" in schema || !JSON.stringify(schema).includes('"$ref"')
      ? schema
      : { $id: `urn:column:${column.name}`, ...schema };
  return {
    ...(column.nullable ? { anyOf: [own, { type: "null" }] } : own),
    ...examplesOf(column.type),
    ...(column.comment === null ? {} : { description: column.comment }),
  };
}
