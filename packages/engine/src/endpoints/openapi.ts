import type {
  Manifest,
  ManifestColumn,
  ManifestDeleteRoute,
  ManifestParameter,
  ManifestQuery,
  ManifestQueryRoute,
  ManifestRoute,
  ManifestRowRoute,
  ManifestService,
  ManifestUpdateRoute,
} from "@appdb/contract/manifest";
import { VERSION } from "@appdb/contract/version";
import { describeInBackground, hasBackground, JOB_PATHS, JOB_SCHEMAS } from "../background/describe-background.ts";
import type { Json } from "../kinds/kind.ts";
import { literalJson } from "../kinds/values.ts";
import { IDEMPOTENCY_HEADERS, IDEMPOTENCY_PARAMETER } from "../routes/describe-once.ts";
import { errorResponses, PROBLEM_SCHEMA, ROUTE_ERRORS } from "../routes/openapi-errors.ts";
import { CELL_ERRORS_HEADER } from "./cell-error-header.ts";
import { MINIMAL_RESPONSE, PREFER_PARAMETER } from "./minimal-answer.ts";
import { describeHandler, withApplication, withTags } from "./openapi-handlers.ts";
import { describeRowsAnswer, describeRowsBody, takesMany } from "./openapi-many.ts";
import { NamedSchemas, operationId } from "./openapi-names.ts";
import {
  describeHeaders,
  EVENT_STREAM_DESCRIBED,
  isMaybePageable,
  PAGE_PARAMETERS_DESCRIBED,
} from "./openapi-pages.ts";
import { rowsSchema } from "./openapi-rows.ts";
import { type OpenApiDocument, objectSchema, valueSchema } from "./openapi-schemas.ts";

/** Describes a service as OpenAPI 3.1, from the columns that its validators are compiled from. */
export function describeService(manifest: Manifest, service: ManifestService): OpenApiDocument {
  const paths: Record<string, Json> = {};
  const schemas = new NamedSchemas();
  schemas.add("Problem", PROBLEM_SCHEMA);
  if (hasBackground(service)) for (const [name, schema] of Object.entries(JOB_SCHEMAS)) schemas.add(name, schema);
  for (const route of service.routes) {
    const path = service.prefix + route.path;
    if (route.kind === "handler" && route.openapi === null) continue;
    const inline = describe(manifest, route, path);
    const named = route.kind === "handler" ? inline : schemas.nameIn(inline, route, path);
    const described = route.kind !== "handler" && route.background != null ? describeInBackground(named) : named;
    paths[path] = { ...(paths[path] as { readonly [key: string]: Json } | undefined), [route.method]: described };
  }
  const document: OpenApiDocument = {
    openapi: "3.1.0",
    info: { title: service.name, version: VERSION },
    paths: { ...withTags(paths, service.tags ?? []), ...(hasBackground(service) ? JOB_PATHS : {}) },
    components: { schemas: schemas.toJSON() },
  };
  return service.app?.openapi == null ? document : withApplication(document, service.app.openapi);
}

function describe(manifest: Manifest, route: ManifestRoute, path: string): Json {
  switch (route.kind) {
    case "query":
      return describeQuery(manifest, route, path);
    case "delete":
      return describeDelete(manifest, route, path);
    case "handler":
      return describeHandler(route, operationId(route, path), errorResponses(ROUTE_ERRORS.handler));
    default:
      return describeRoute(manifest, route, path);
  }
}

const WORDS = {
  insert: { summary: (table: string) => `Insert a row into ${table}`, answer: "The row was stored." },
  update: { summary: (table: string) => `Update a row of ${table}`, answer: "The row was updated." },
  compute: {
    summary: (table: string) => `Compute the columns of a row of ${table}, storing nothing`,
    answer: "The values.",
  },
} as const;

function describeRoute(manifest: Manifest, route: ManifestRowRoute | ManifestUpdateRoute, path: string): Json {
  const table = manifest.tables.find((candidate) => candidate.name === route.table);
  const columns = new Map(table?.columns.map((column) => [column.name, column]));
  const body = route.kind === "update" ? changeSchema(columns, route) : objectSchema(columns, route.inputs, "input");
  const answer = answerOf(columns, route);
  return {
    operationId: operationId(route, path),
    summary: WORDS[route.kind].summary(route.table),
    ...(table?.comment == null ? {} : { description: table.comment }),
    tags: [route.table],
    ...parametersOf(route),
    requestBody: takesMany(route)
      ? describeRowsBody(body)
      : { required: true, content: { "application/json": { schema: body } } },
    responses: {
      "200": {
        description: WORDS[route.kind].answer,
        ...answerHeaders(route),
        content: takesMany(route) ? describeRowsAnswer(answer, COUNT) : { "application/json": { schema: answer } },
      },
      ...(route.kind === "compute" ? {} : { "204": MINIMAL_RESPONSE }),
      ...errorResponses([
        ...ROUTE_ERRORS[route.kind],
        ...(route.export_sql == null ? [] : (["export_failed"] as const)),
      ]),
    },
  };
}

function parametersOf(route: ManifestRowRoute | ManifestUpdateRoute): { readonly [key: string]: Json } {
  if (route.kind === "compute") return {};
  return { parameters: [IDEMPOTENCY_PARAMETER, PREFER_PARAMETER] };
}

/** What a function of the application returns is told by its annotation. */
function answerOf(columns: ReadonlyMap<string, ManifestColumn>, route: ManifestRowRoute | ManifestUpdateRoute): Json {
  if (route.handler !== null) return (route.handler.response ?? {}) as Json;
  return objectSchema(columns, route.outputs, sideOf(route));
}

/** The key, and whatever is to change. */
function changeSchema(columns: ReadonlyMap<string, ManifestColumn>, route: ManifestUpdateRoute): Json {
  const key = objectSchema(columns, route.key, "key");
  const inputs = objectSchema(columns, route.inputs, "change");
  return { ...key, properties: { ...key.properties, ...inputs.properties } };
}

function describeDelete(manifest: Manifest, route: ManifestDeleteRoute, path: string): Json {
  const table = manifest.tables.find((candidate) => candidate.name === route.table);
  const columns = new Map(table?.columns.map((column) => [column.name, column]));
  return {
    operationId: operationId(route, path),
    summary: `Delete rows of ${route.table}`,
    description: "Deletes the rows that have all of these values; null stands for rows without a value.",
    tags: [route.table],
    parameters: [IDEMPOTENCY_PARAMETER],
    requestBody: {
      required: true,
      content: { "application/json": { schema: objectSchema(columns, route.match_columns, "match") } },
    },
    responses: {
      "200": {
        description: "The number of rows that were deleted.",
        headers: IDEMPOTENCY_HEADERS,
        content: { "application/json": { schema: COUNT } },
      },
      ...errorResponses(ROUTE_ERRORS.delete),
    },
  };
}

const COUNT: Json = {
  type: "object",
  properties: { num_rows: { type: "integer", minimum: 0 } },
  required: ["num_rows"],
  additionalProperties: false,
};

function describeQuery(manifest: Manifest, route: ManifestQueryRoute, path: string): Json {
  const query = manifest.queries.find((candidate) => candidate.id === route.query);
  if (query === undefined) throw new TypeError(`The manifest has no query ${route.query}.`);
  const isPaged = !route.one_row && isMaybePageable(query);
  const codes = [
    ...ROUTE_ERRORS.query,
    ...(route.one_row ? (["row_not_found", "several_rows"] as const) : []),
    ...(isPaged ? (["invalid_cursor", "not_pageable"] as const) : []),
  ];
  return {
    operationId: operationId(route, path),
    summary: `Query ${query.name}`,
    ...(query.comment === null ? {} : { description: query.comment }),
    tags: [query.query.from.table],
    ...describeParameters(route, query),
    responses: {
      "200": {
        description: route.one_row ? "The row." : "The rows.",
        ...describeHeaders(route, isPaged),
        content: { "application/json": { schema: rowsSchema(manifest, route, query) }, ...EVENT_STREAM_DESCRIBED },
      },
      ...(route.method === "get" ? { "304": { description: "The client has this answer already." } } : {}),
      ...errorResponses(codes),
    },
  };
}

/** Parameters of the URL, or members of the body. */
function describeParameters(route: ManifestQueryRoute, query: ManifestQuery): { readonly [key: string]: Json } {
  const parameters = query.parameters.filter(({ name }) => route.inputs.includes(name));
  const schemas = parameters.map((parameter) => [parameter.name, parameterSchema(parameter)] as const);
  const required = parameters.filter((parameter) => parameter.default === undefined).map(({ name }) => name);
  const pages = !route.one_row && isMaybePageable(query) ? PAGE_PARAMETERS_DESCRIBED : [];
  if (route.method === "get") {
    const inUrl = ([name, schema]: readonly [string, Json]) => {
      return { name, in: "query", required: required.includes(name), schema };
    };
    return { parameters: [...schemas.map(inUrl), ...pages] };
  }
  const schema = { type: "object", properties: Object.fromEntries(schemas), required, additionalProperties: false };
  return {
    ...(pages.length === 0 ? {} : { parameters: pages }),
    requestBody: { required: required.length > 0, content: { "application/json": { schema } } },
  };
}

function parameterSchema(parameter: ManifestParameter): Json {
  const schema = valueSchema(parameter.type, parameter.nullable);
  const { type, default: value } = parameter;
  return value === undefined ? schema : { ...schema, default: literalJson({ type, value }) };
}

/** A row that is updated may have cells that failed before, in columns that the update does not compute. */
function sideOf(route: ManifestRowRoute | ManifestUpdateRoute): "output" | "failing output" {
  return route.on_error === "ignore" || route.kind === "update" ? "failing output" : "output";
}

function answerHeaders(route: ManifestRowRoute | ManifestUpdateRoute): { readonly [key: string]: Json } {
  const headers = {
    ...(route.kind === "compute" ? {} : IDEMPOTENCY_HEADERS),
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
