/** Prints JSON Schemas of `db.Json[...]` in their source form. python/appdb/declare/json_schema.py prints the same. */

type Schema = Readonly<Record<string, unknown>>;

const NAMES = new Map<unknown, string>([
  ["string", "String"],
  ["integer", "Int"],
  ["number", "Float"],
  ["boolean", "Bool"],
]);
const FORMATS = new Map<unknown, string>([
  ["date-time", "Timestamp"],
  ["date", "Date"],
  ["uuid", "UUID"],
]);

/** Prints a Json type: `Json`, `Json[{'a': Int}]`; `Json[...]` for a schema without a short form. */
export function displayJson(schema: Schema | undefined): string {
  if (schema === undefined || Object.keys(schema).length === 0) return "Json";
  return `Json[${inner(schema) ?? "..."}]`;
}

/** Prints a nested schema; undefined for one without a short form. */
function part(schema: unknown): string | undefined {
  if (!isSchema(schema)) return undefined;
  const members = schema.anyOf;
  if (Object.keys(schema).length === 0) return "Json";
  if (hasKeys(schema, "anyOf") && Array.isArray(members) && members.length > 1) {
    const parts = members.map((member) => (isNull(member) ? "None" : part(member)));
    return parts.includes(undefined) ? undefined : parts.join(" | ");
  }
  const text = inner(schema);
  const [type, isNullable] = typeOf(schema);
  if (text === undefined || (type !== "array" && type !== "object")) return text;
  return isNullable ? `Json[${text}] | None` : `Json[${text}]`;
}

function inner(schema: Schema): string | undefined {
  if (hasKeys(schema, "anyOf")) return part(schema);
  if (hasKeys(schema, "enum") && Array.isArray(schema.enum)) {
    const isPlain = schema.enum.every(
      (value) => ["string", "boolean"].includes(typeof value) || Number.isInteger(value),
    );
    return isPlain ? `Literal[${schema.enum.map(constant).join(", ")}]` : undefined;
  }
  const [type, isNullable] = typeOf(schema);
  if (type === "array") return list(schema);
  if (type === "object") return object(schema);
  const name = hasKeys(schema, "type") ? NAMES.get(type) : undefined;
  const format = type === "string" && hasKeys(schema, "format", "type") ? FORMATS.get(schema.format) : undefined;
  const text = name ?? format;
  return text !== undefined && isNullable ? `${text} | None` : text;
}

function list(schema: Schema): string | undefined {
  const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  const { minItems, maxItems } = schema;
  if (hasKeys(schema, "maxItems", "type") && maxItems === 0) return "()";
  const parts = [...first, ...("items" in schema ? [schema.items] : [])].map(part);
  if (parts.includes(undefined) || parts.length === 0) return undefined;
  const isOpen = hasKeys(schema, "items", "minItems", "prefixItems", "type") && minItems === first.length;
  if (isOpen || hasKeys(schema, "items", "type")) return `(${parts.join(", ")}, ...)`;
  const isClosed = hasKeys(schema, "maxItems", "minItems", "prefixItems", "type");
  if (!isClosed || minItems !== first.length || maxItems !== first.length) return undefined;
  return first.length === 1 ? `(${parts[0]},)` : `(${parts.join(", ")})`;
}

function object(schema: Schema): string | undefined {
  if (hasKeys(schema, "type")) return "dict";
  if (hasKeys(schema, "additionalProperties", "type")) {
    const value = part(schema.additionalProperties);
    return value === undefined ? undefined : `dict[String, ${value}]`;
  }
  const { properties, required } = schema;
  if (!hasKeys(schema, "additionalProperties", "properties", "required", "type")) return undefined;
  if (schema.additionalProperties !== false || !isSchema(properties) || !Array.isArray(required)) return undefined;
  const optional = Object.keys(properties)
    .filter((key) => !required.includes(key))
    .sort();
  const parts = [...required.map(String), ...optional].map((key) => [key, part(properties[key])] as const);
  if (parts.some(([, text]) => text === undefined)) return undefined;
  const text = `{${parts.map(([key, value]) => `${constant(key)}: ${value}`).join(", ")}}`;
  return optional.length === 0 ? text : `${text}, optional_keys=[${optional.map(constant).join(", ")}]`;
}

/** A schema's one type, and whether it also allows null. */
function typeOf({ type }: Schema): readonly [string | undefined, boolean] {
  if (typeof type === "string") return [type, false];
  const isNullable = Array.isArray(type) && type.length === 2 && type[1] === "null";
  return isNullable ? [String(type[0]), true] : [undefined, false];
}

/** A constant in Python form, in single quotes. */
function constant(value: unknown): string {
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "string") return String(value);
  return `'${value.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n")}'`;
}

function isNull(schema: unknown): boolean {
  return isSchema(schema) && hasKeys(schema, "type") && schema.type === "null";
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether these keys, in alphabetical order, are all keys of a schema. */
function hasKeys(schema: Schema, ...keys: readonly string[]): boolean {
  return Object.keys(schema).sort().join() === keys.join();
}
