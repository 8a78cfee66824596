import { ERRORS, type ErrorCode } from "@appdb/contract/errors";
import type {
  Manifest,
  ManifestColumn,
  ManifestParameter,
  ManifestQuery,
  ManifestQueryRoute,
  ManifestRoute,
  ManifestRowRoute,
  ManifestService,
} from "@appdb/contract/manifest";
import type { ArrayDtype, ColumnType, TypeKind } from "@appdb/contract/types";
import { VERSION } from "@appdb/contract/version";
import { IDEMPOTENCY_HEADERS, IDEMPOTENCY_PARAMETER } from "../once/describe-once.ts";
import { dtypeOf } from "../sql/storage-type.ts";
import { CELL_ERRORS_HEADER } from "./cell-error-header.ts";

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type OpenApiDocument = { readonly [key: string]: Json };

const SCHEMAS = {
  string: { type: "string" },
  int: { type: "integer", format: "int64" },
  float: { type: "number", format: "double" },
  bool: { type: "boolean" },
  timestamp: { type: "string", format: "date-time" },
  date: { type: "string", format: "date" },
  uuid: { type: "string", format: "uuid" },
  json: {},
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

/** Errors that a route may answer, by status; several codes may share one. */
const ROUTE_ERRORS = {
  insert: [
    "invalid_json",
    "invalid_request",
    "invalid_idempotency_key",
    "idempotency_mismatch",
    "unsupported_media_type",
    "payload_too_large",
    "unique_violation",
    "schema_changed",
    "function_failed",
    "function_timeout",
    "worker_died",
    "worker_out_of_memory",
    "query_timeout",
    "database_unavailable",
    "commit_unknown",
    "disk_full",
  ],
  compute: [
    "invalid_json",
    "invalid_request",
    "unsupported_media_type",
    "payload_too_large",
    "function_failed",
    "function_timeout",
    "worker_died",
    "worker_out_of_memory",
    "query_timeout",
    "database_unavailable",
  ],
  query: [
    "invalid_json",
    "invalid_request",
    "schema_changed",
    "function_failed",
    "function_timeout",
    "worker_died",
    "worker_out_of_memory",
    "result_too_large",
    "query_timeout",
    "database_unavailable",
    "overloaded",
  ],
} as const satisfies Record<ManifestRoute["kind"], readonly ErrorCode[]>;

/** Describes a service as OpenAPI 3.1, from the columns that its validators are compiled from. */
export function describeService(manifest: Manifest, service: ManifestService): OpenApiDocument {
  const paths: Record<string, Json> = {};
  for (const route of service.routes) {
    const path = service.prefix + route.path;
    const described =
      route.kind === "query" ? describeQuery(manifest, route, path) : describeRoute(manifest, route, path);
    paths[path] = { ...(paths[path] as { readonly [key: string]: Json } | undefined), [route.method]: described };
  }
  return {
    openapi: "3.1.0",
    info: { title: service.name, version: VERSION },
    paths,
    components: { schemas: { Problem: PROBLEM_SCHEMA } },
  };
}

function describeRoute(manifest: Manifest, route: ManifestRowRoute, path: string): Json {
  const table = manifest.tables.find((candidate) => candidate.name === route.table);
  const columns = new Map(table?.columns.map((column) => [column.name, column]));
  const verb = route.kind === "insert" ? "Insert a row into" : "Compute the columns of a row of";
  return {
    operationId: operationId(route, path),
    summary: `${verb} ${route.table}${route.kind === "insert" ? "" : ", storing nothing"}`,
    ...(table?.comment == null ? {} : { description: table.comment }),
    tags: [route.table],
    ...(route.kind === "insert" ? { parameters: [IDEMPOTENCY_PARAMETER] } : {}),
    requestBody: {
      required: true,
      content: { "application/json": { schema: objectSchema(columns, route.inputs, "input") } },
    },
    responses: {
      "200": {
        description: route.kind === "insert" ? "The row was stored." : "The values.",
        ...answerHeaders(route),
        content: { "application/json": { schema: objectSchema(columns, route.outputs, sideOf(route)) } },
      },
      ...errorResponses(ROUTE_ERRORS[route.kind]),
    },
  };
}

function operationId(route: ManifestRoute, path: string): string {
  return `${route.kind}_${path.replace(/\W+/g, "_").replace(/^_|_$/g, "")}_${route.method}`;
}

function describeQuery(manifest: Manifest, route: ManifestQueryRoute, path: string): Json {
  const query = manifest.queries.find((candidate) => candidate.id === route.query);
  if (query === undefined) throw new TypeError(`The manifest has no query ${route.query}.`);
  const codes = route.one_row
    ? ([...ROUTE_ERRORS.query, "row_not_found", "several_rows"] as const)
    : ROUTE_ERRORS.query;
  return {
    operationId: operationId(route, path),
    summary: `Query ${query.name}`,
    ...(query.comment === null ? {} : { description: query.comment }),
    tags: [query.query.from.table],
    ...describeParameters(route, query),
    responses: {
      "200": {
        description: route.one_row ? "The row." : "The rows.",
        content: { "application/json": { schema: answerSchema(route, query) } },
      },
      ...errorResponses(codes),
    },
  };
}

/** Parameters of the URL, or members of the body. */
function describeParameters(route: ManifestQueryRoute, query: ManifestQuery): { readonly [key: string]: Json } {
  const parameters = query.parameters.filter(({ name }) => route.inputs.includes(name));
  const schemas = parameters.map((parameter) => [parameter.name, parameterSchema(parameter)] as const);
  const required = parameters.filter((parameter) => parameter.default === undefined).map(({ name }) => name);
  if (route.method === "get") {
    const inUrl = ([name, schema]: readonly [string, Json]) => {
      return { name, in: "query", required: required.includes(name), schema };
    };
    return { parameters: schemas.map(inUrl) };
  }
  const schema = { type: "object", properties: Object.fromEntries(schemas), required, additionalProperties: false };
  return { requestBody: { required: required.length > 0, content: { "application/json": { schema } } } };
}

function answerSchema(route: ManifestQueryRoute, { query, return_scalar }: ManifestQuery): Json {
  // An outer join leaves columns without a value that are never null in their table.
  const outer = query.joins.some(({ kind }) => kind !== "inner" && kind !== "cross");
  const values = query.select.map(({ name, expr }) => [name, valueSchema(expr.type, expr.nullable || outer)] as const);
  const row: Json =
    return_scalar && values[0] !== undefined
      ? values[0][1]
      : {
          type: "object",
          properties: Object.fromEntries(values),
          required: values.map(([name]) => name),
          additionalProperties: false,
        };
  if (route.one_row) return row;
  const rows = { type: "array", items: row };
  return return_scalar
    ? rows
    : { type: "object", properties: { rows }, required: ["rows"], additionalProperties: false };
}

function parameterSchema(parameter: ManifestParameter): Json {
  const schema = valueSchema(parameter.type, parameter.nullable);
  const { default: value } = parameter;
  if (value === undefined || value === null) return value === null ? { ...schema, default: null } : schema;
  const { kind } = parameter.type;
  const isJson = kind === "json" || kind === "array";
  return { ...schema, default: kind === "int" ? Number(value) : isJson ? JSON.parse(String(value)) : value };
}

function valueSchema(type: ColumnType, nullable: boolean): { readonly [key: string]: Json } {
  const schema = typeSchema(type);
  return nullable && schema.type !== undefined ? { ...schema, type: [schema.type, "null"] } : schema;
}

function objectSchema(
  columns: ReadonlyMap<string, ManifestColumn>,
  names: readonly string[],
  side: "input" | "output" | "failing output",
): Json {
  const chosen = names.flatMap((name) => columns.get(name) ?? []);
  return {
    type: "object",
    properties: Object.fromEntries(chosen.map((column) => [column.name, columnJsonSchema(mayFail(column, side))])),
    required: chosen.filter((column) => side !== "input" || !column.nullable).map((column) => column.name),
    additionalProperties: false,
  };
}

function sideOf(route: ManifestRowRoute): "output" | "failing output" {
  return route.on_error === "ignore" ? "failing output" : "output";
}

/** A cell that failed is null whatever its column's type says. */
function mayFail(column: ManifestColumn, side: string): ManifestColumn {
  return side === "failing output" && column.computed !== null && !column.primary_key
    ? { ...column, nullable: true }
    : column;
}

function answerHeaders(route: ManifestRowRoute): { readonly [key: string]: Json } {
  const headers = {
    ...(route.kind === "insert" ? IDEMPOTENCY_HEADERS : {}),
    ...(route.on_error === "ignore" ? CELL_ERROR_HEADERS : {}),
  };
  return Object.keys(headers).length === 0 ? {} : { headers };
}

const CELL_ERROR_HEADERS: { readonly [key: string]: Json } = {
  [CELL_ERRORS_HEADER]: {
    description: 'Columns that failed and are null, with the type of their error: `fare;type="ZeroDivisionError"`',
    schema: { type: "string" },
  },
};

function columnJsonSchema(column: ManifestColumn): Json {
  const schema = typeSchema(column.type);
  const { type } = schema;
  if (column.type.schema !== undefined) return jsonSchema(column, column.type.schema as { [key: string]: Json });
  return {
    ...schema,
    ...(column.nullable && type !== undefined ? { type: [type, "null"] } : {}),
    ...(column.comment === null ? {} : { description: column.comment }),
  };
}

/** A schema of the application's own stands as it is; its references, if it has any, are to itself. */
function jsonSchema(column: ManifestColumn, schema: { readonly [key: string]: Json }): Json {
  const own =
    "$id" in schema || !JSON.stringify(schema).includes('"$ref"')
      ? schema
      : { $id: `urn:column:${column.name}`, ...schema };
  return {
    ...(column.nullable ? { anyOf: [own, { type: "null" }] } : own),
    ...(column.comment === null ? {} : { description: column.comment }),
  };
}

function typeSchema(type: ColumnType): { readonly [key: string]: Json } {
  if (type.kind !== "array") return SCHEMAS[type.kind];
  const element = ELEMENT_SCHEMAS[dtypeOf(type)];
  if (type.shape == null) return { type: "array", description: `Nested lists of ${type.dtype}, of any shape` };
  return type.shape.reduceRight<{ readonly [key: string]: Json }>(
    (items, length) => ({ type: "array", items, ...(length === null ? {} : { minItems: length, maxItems: length }) }),
    element,
  );
}

function errorResponses(codes: readonly ErrorCode[]): Record<string, Json> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) byStatus.set(ERRORS[code].status, [...(byStatus.get(ERRORS[code].status) ?? []), code]);
  return Object.fromEntries(
    [...byStatus].map(([status, same]) => [
      String(status),
      {
        description: same.map((code) => `\`${code}\`: ${ERRORS[code].title}`).join("; "),
        content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    ]),
  );
}

const PROBLEM_SCHEMA: Json = {
  type: "object",
  description: "RFC 9457 problem details",
  properties: {
    type: { type: "string", format: "uri" },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string", description: "What happened, with the real values" },
    code: { type: "string", description: "Permanent name of the error" },
    hint: { type: "string", description: "One next step" },
    instance: { type: "string", description: "The request's id, as in the header x-request-id" },
    errors: {
      type: "array",
      items: {
        type: "object",
        properties: { pointer: { type: "string" }, detail: { type: "string" } },
        required: ["pointer", "detail"],
      },
    },
    meta: { type: "object" },
  },
  required: ["type", "title", "status", "detail", "code"],
};
