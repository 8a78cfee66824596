import type { ManifestColumn } from "@appdb/contract/manifest";
import type { ArrayDtype, ColumnType, TypeKind } from "@appdb/contract/types";
import { dtypeOf } from "../sql/storage-type.ts";
import { examplesOf } from "./openapi-examples.ts";

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type OpenApiDocument = { readonly [key: string]: Json };

const SCHEMAS = {
  string: { type: "string" },
  int: { type: "integer", format: "int64" },
  float: { type: "number", format: "double" },
  bool: { type: "boolean" },
  timestamp: { type: "string", format: "date-time" },
  date: { type: "string", format: "date" },
  uuid: { type: "string", format: "uuid" },
  // whatever is not null
  json: { type: ["object", "array", "string", "number", "boolean"], items: {} },
  binary: { type: "string", contentEncoding: "base64" },
} as const satisfies Record<Exclude<TypeKind, "array">, { readonly [key: string]: Json }>;

const ELEMENT_SCHEMAS = {
  bool: { type: "boolean" },
  uint8: { type: "integer", minimum: 0, maximum: 255 },
  int8: { type: "integer", minimum: -128, maximum: 127 },
  int16: { type: "integer", minimum: -32_768, maximum: 32_767 },
  int32: { type: "integer", format: "int32" },
  int64: { type: "integer", format: "int64" },
  float32: { type: "number", format: "float" },
  float64: { type: "number", format: "double" },
  string: { type: "string" },
} as const satisfies Record<ArrayDtype, { readonly [key: string]: Json }>;

/** What a value of a type looks like in JSON, with an example. */
export function valueSchema(type: ColumnType, nullable: boolean): { readonly [key: string]: Json } {
  const schema = { ...typeSchema(type), ...examplesOf(type) };
  return nullable ? orNull(type, schema) : schema;
}

function orNull(type: ColumnType, { type: named, ...schema }: { readonly [key: string]: Json }) {
  // any JSON there is, said as generators understand it
  if (type.kind === "json") return {};
  return named === undefined ? schema : { ...schema, type: [named, "null"] };
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

/** A constant as the manifest writes it, in JSON. */
export function literalJson({
  type: { kind },
  value,
}: {
  readonly type: ColumnType;
  readonly value: string | number | boolean | null;
}): Json {
  if (value === null) return null;
  if (kind === "int") return Number(value);
  return kind === "json" || kind === "array" ? (JSON.parse(String(value)) as Json) : value;
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

function typeSchema(type: ColumnType): { readonly [key: string]: Json } {
  if (type.kind !== "array") return SCHEMAS[type.kind];
  const element = ELEMENT_SCHEMAS[dtypeOf(type)];
  if (type.shape == null)
    return { type: "array", items: {}, description: `Nested lists of ${type.dtype}, of any shape` };
  return type.shape.reduceRight<{ readonly [key: string]: Json }>(
    (items, length) => ({ type: "array", items, ...(length === null ? {} : { minItems: length, maxItems: length }) }),
    element,
  );
}
