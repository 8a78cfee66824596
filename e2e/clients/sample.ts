export type Schema = { readonly [key: string]: unknown };

export interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, Schema> };
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { name: string; in: string; required?: boolean; schema: Schema }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: Schema }> };
  readonly responses: Record<string, { readonly content?: Record<string, { readonly schema?: Schema }> }>;
}

/** One request of an operation with values that its document allows. */
export interface Call {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly body: unknown;
  readonly statuses: readonly string[];
  /** Operations with a JSON body whose schema names its type. */
  readonly typed: readonly string[];
  /** Whether it answers JSON on success. */
  readonly is_json: boolean;
}

/** A request for every operation of a document with its required values and own parameters. */
export function callsOf(document: Document): Call[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => {
      const parameters: Record<string, Record<string, unknown>> = {};
      for (const { name, in: place, required, schema } of operation.parameters ?? []) {
        if (required) parameters[place] = { ...parameters[place], [name]: sample(schema, document) };
      }
      const schema = operation.requestBody?.content["application/json"]?.schema;
      const body = schema === undefined ? undefined : sample(schema, document);
      const typed = Object.entries(operation.responses).flatMap(([status, { content = {} }]) =>
        Object.entries(content).some(
          ([type, { schema }]) => type.endsWith("json") && Object.keys(schema ?? {}).length > 0,
        )
          ? [status]
          : [],
      );
      const statuses = Object.keys(operation.responses);
      return { id: operation.operationId, method, path, parameters, body, statuses, typed, is_json: isJson(operation) };
    }),
  );
}

function isJson({ responses }: Operation): boolean {
  const [, done] = Object.entries(responses).find(([status]) => status.startsWith("2")) ?? [];
  return Object.keys(done?.content ?? {}).some((type) => type === "application/json");
}

const STRINGS: Readonly<Record<string, string>> = {
  "date-time": "2026-01-02T03:04:05Z",
  date: "2026-01-02",
  uuid: "0198c0de-0000-7000-8000-000000000001",
};

/** A value that a schema allows. */
function sample(schema: Schema, document: Document): unknown {
  const { $ref, oneOf, anyOf, items, minItems } = schema as {
    $ref?: string;
    oneOf?: Schema[];
    anyOf?: Schema[];
    items?: Schema;
    minItems?: number;
  };
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if ($ref !== undefined) return sample(document.components.schemas[$ref.split("/").at(-1) ?? ""] ?? {}, document);
  const [first] = oneOf ?? anyOf ?? [];
  if (first !== undefined) return sample(first, document);
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case "string":
      return STRINGS[String(schema.format)] ?? "text";
    case "integer":
    case "number":
      return Number(schema.minimum ?? 1);
    case "boolean":
      return true;
    case "array":
      return Array.from({ length: minItems ?? 1 }, () => sample(items ?? {}, document));
    case "object":
      return sampleObject(schema, document);
    default:
      return null;
  }
}

function sampleObject(schema: Schema, document: Document): unknown {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, Schema>; required?: string[] };
  return Object.fromEntries(required.map((name) => [name, sample(properties[name] ?? {}, document)]));
}
