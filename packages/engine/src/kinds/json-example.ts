import type { Json, JsonObject } from "./kind.ts";

type Schema = JsonObject;

const FORMATS: { readonly [format: string]: string } = {
  "date-time": "2026-01-02T03:04:05Z",
  date: "2026-01-02",
  uuid: "019b7c3e-5a00-7000-8000-000000000001",
};

/** A longer list would not be readable. */
const MAX_ELEMENTS = 16;

/** The keywords that `Json[...]` makes. A schema with other keywords has no example. */
const KNOWN: ReadonlySet<string> = new Set([
  "type",
  "format",
  "enum",
  "const",
  "title",
  "description",
  "anyOf",
  "minimum",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "prefixItems",
  "minItems",
  "maxItems",
]);

/** A value that matches a JSON Schema; undefined for unknown keywords. */
export function exampleOfSchema(schema: Schema): Json | undefined {
  if (!Object.keys(schema).every((key) => KNOWN.has(key))) return undefined;
  const { type, anyOf, format } = schema;
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (Array.isArray(anyOf))
    return Object.keys(schema).length > 1 ? undefined : exampleOfSchema((anyOf[0] ?? {}) as Schema);
  switch (Array.isArray(type) ? type[0] : type) {
    case undefined:
    case "string":
      return format === undefined ? "text" : FORMATS[String(format)];
    case "integer":
      return Math.ceil(Number(schema.minimum ?? 1));
    case "number":
      return Number(schema.minimum ?? 1.5);
    case "boolean":
      return true;
    case "null":
      return null;
    case "array":
      return sampleArray(schema);
    case "object":
      return sampleObject(schema);
    default:
      return undefined;
  }
}

function sampleArray({ prefixItems = [], items = {}, minItems, maxItems }: Schema): Json | undefined {
  const first = (prefixItems as readonly Schema[]).map((item) => exampleOfSchema(item));
  const count = Math.min(Math.max(Number(minItems ?? 1), first.length), Number(maxItems ?? MAX_ELEMENTS));
  const more = typeof items === "object" ? exampleOfSchema(items as Schema) : undefined;
  const all = Array.from({ length: count }, (_, at) => (at < first.length ? first[at] : more));
  return count > MAX_ELEMENTS || all.includes(undefined) ? undefined : (all as Json[]);
}

function sampleObject({ properties = {}, required = [], additionalProperties }: Schema): Json | undefined {
  const members = Object.entries(properties as { readonly [name: string]: Schema });
  const found = Object.fromEntries(members.map(([name, schema]) => [name, exampleOfSchema(schema)]));
  const isMissing = (name: Json) => found[String(name)] === undefined;
  if ((required as readonly Json[]).some(isMissing)) return undefined;
  const more =
    typeof additionalProperties === "object" ? exampleOfSchema((additionalProperties ?? {}) as Schema) : undefined;
  if (members.length === 0 && more !== undefined) return { key: more };
  return Object.fromEntries(Object.entries(found).filter((entry): entry is [string, Json] => entry[1] !== undefined));
}
