import type { ManifestColumn } from "@appdb/contract/manifest";
import type { ColumnType } from "@appdb/contract/types";
import type { Json, JsonObject } from "../kinds/kind.ts";
import { kindOf } from "../kinds/kinds.ts";
import { literalJson } from "../kinds/values.ts";

export type OpenApiDocument = JsonObject;

/** What a value of a type looks like in JSON, with an example. */
export function valueSchema(type: ColumnType, nullable: boolean): { readonly [key: string]: Json } {
  const kind = kindOf(type);
  const schema = { ...kind.schema(type), ...examplesOf(type) };
  return nullable ? kind.nullable(schema) : schema;
}

/** A value of a column's type, as the keyword `examples`; nothing where one would be too long or cannot be made up. */
export function examplesOf(type: ColumnType): { readonly examples?: readonly Json[] } {
  const value = kindOf(type).example(type);
  return value === undefined ? {} : { examples: [value] };
}

/** An object of some columns of a table. */
export function objectSchema(
  columns: ReadonlyMap<string, ManifestColumn>,
  names: readonly string[],
  side: Side,
): { readonly type: "object"; readonly properties: { readonly [key: string]: Json }; readonly [key: string]: Json } {
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

/** `input` is a new row, whose defaults are told, `change` what an update brings. `key` and `match`: every member is required;
 *  a computed column that is matched may be null. */
export type Side = "input" | "change" | "key" | "match" | "output" | "failing output";

function withDefault(column: ManifestColumn, side: Side): Json {
  const schema = columnJsonSchema(mayFail(column, side));
  const expr = side === "input" ? column.default?.expr : undefined;
  return expr?.node === "literal" ? { ...schema, default: literalJson(expr) } : schema;
}

/** A cell that failed is null whatever its column's type says. */
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

/** A schema of the application's own stands as it is; its references, if it has any, are to itself. */
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
