import type { ArrayDtype, ColumnType, TypeKind } from "@appdb/contract/types";
import { dtypeOf } from "../sql/storage-type.ts";

type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value };
type Schema = { readonly [key: string]: Value };

const FORMATS: { readonly [format: string]: string } = {
  "date-time": "2026-01-02T03:04:05Z",
  date: "2026-01-02",
  uuid: "019b7c3e-5a00-7000-8000-000000000001",
};

const EXAMPLES = {
  string: "text",
  int: 1,
  float: 1.5,
  bool: true,
  timestamp: FORMATS["date-time"] ?? "",
  date: FORMATS.date ?? "",
  uuid: FORMATS.uuid ?? "",
  json: { key: "value" },
  binary: "AAH/",
} as const satisfies Record<Exclude<TypeKind, "array">, Value>;

const ELEMENTS = {
  bool: true,
  uint8: 1,
  int8: 1,
  int16: 1,
  int32: 1,
  int64: 1,
  float32: 0.5,
  float64: 0.5,
  string: "text",
} as const satisfies Record<ArrayDtype, Value>;

/** Longer arrays would be nothing to read. */
const MOST_ELEMENTS = 16;

/** A value of a column's type, as the keyword `examples`; nothing where one would be too long or cannot be made up. */
export function examplesOf(type: ColumnType): { readonly examples?: readonly Value[] } {
  const value = exampleOf(type);
  return value === undefined ? {} : { examples: [value] };
}

function exampleOf(type: ColumnType): Value | undefined {
  if (type.kind === "array") return arrayExample(type);
  return type.schema === undefined ? EXAMPLES[type.kind] : sample(type.schema as Schema);
}

function arrayExample(type: ColumnType): Value | undefined {
  const lengths = (type.shape ?? [null]).map((length) => length ?? 2);
  if (lengths.reduce((all, length) => all * length, 1) > MOST_ELEMENTS) return undefined;
  return lengths.reduceRight<Value>((item, length) => Array.from({ length }, () => item), ELEMENTS[dtypeOf(type)]);
}

/** What `Json[...]` says of values, and no more: a schema that says anything else has no example. */
const KNOWN: ReadonlySet<string> = new Set([
  ...["type", "format", "enum", "const", "title", "description", "anyOf", "minimum"],
  ...["properties", "required", "additionalProperties", "items", "prefixItems", "minItems", "maxItems"],
]);

function sample(schema: Schema): Value | undefined {
  if (!Object.keys(schema).every((key) => KNOWN.has(key))) return undefined;
  const { type, anyOf, format } = schema;
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (Array.isArray(anyOf)) return Object.keys(schema).length > 1 ? undefined : sample((anyOf[0] ?? {}) as Schema);
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

function sampleArray({ prefixItems = [], items = {}, minItems, maxItems }: Schema): Value | undefined {
  const first = (prefixItems as readonly Schema[]).map((item) => sample(item));
  const wanted = Math.min(Math.max(Number(minItems ?? 1), first.length), Number(maxItems ?? MOST_ELEMENTS));
  const more = typeof items === "object" ? sample(items as Schema) : undefined;
  const all = Array.from({ length: wanted }, (_, at) => (at < first.length ? first[at] : more));
  return wanted > MOST_ELEMENTS || all.includes(undefined) ? undefined : (all as Value[]);
}

function sampleObject({ properties = {}, required = [], additionalProperties }: Schema): Value | undefined {
  const members = Object.entries(properties as { readonly [name: string]: Schema });
  const found = Object.fromEntries(members.map(([name, schema]) => [name, sample(schema)]));
  const lacks = (name: Value) => found[String(name)] === undefined;
  if ((required as readonly Value[]).some(lacks)) return undefined;
  const more = typeof additionalProperties === "object" ? sample((additionalProperties ?? {}) as Schema) : undefined;
  if (members.length === 0 && more !== undefined) return { key: more };
  return Object.fromEntries(Object.entries(found).filter((entry): entry is [string, Value] => entry[1] !== undefined));
}
