import type { Expr } from "@appdb/contract/expressions";
import type { Manifest, ManifestParameter, ManifestQuery, ManifestQueryRoute } from "@appdb/contract/manifest";
import { visit } from "../expressions/tree.ts";
import type { Json } from "../kinds/kind.ts";
import { isMedia } from "../kinds/media.ts";
import { literalJson } from "../kinds/values.ts";
import { DATABASE, errorResponses, FILE, JSON_BODY, MEDIA, PYTHON, UPLOADS } from "../openapi/errors.ts";
import { operationId } from "../openapi/named-schemas.ts";
import { fileContent, valueSchema } from "../openapi/schemas.ts";
import type { OpenApiInput } from "./route-kind.ts";
import { withForm } from "./row-openapi.ts";

/** The operation of a query route. */
export function describeQuery(route: ManifestQueryRoute, { manifest, path, schemas }: OpenApiInput): Json {
  const query = manifest.queries.find((candidate) => candidate.id === route.query);
  if (query === undefined) throw new TypeError(`The manifest has no query ${route.query}.`);
  const isFile = route.file_response === true;
  const isPaged = !route.one_row && isMaybePageable(query);
  const codes = [
    ...JSON_BODY,
    ...PYTHON,
    ...DATABASE,
    ...(["schema_changed", "result_too_large", "overloaded"] as const),
    ...(route.one_row ? (["row_not_found", "several_rows"] as const) : []),
    ...(isFile ? FILE : []),
    ...(query.parameters.some(({ name, type }) => route.inputs.includes(name) && isMedia(type.kind)) ? MEDIA : []),
    ...(route.uploads === undefined ? [] : UPLOADS),
    ...(isPaged ? (["invalid_cursor", "not_pageable"] as const) : []),
  ];
  const operation = {
    operationId: operationId(route, path),
    summary: `Query ${query.name}`,
    ...(query.comment === null ? {} : { description: query.comment }),
    tags: [query.query.from.table],
    ...describeParameters(route, query),
    responses: {
      "200": {
        description: describeAnswer(route),
        ...describeHeaders(route, isPaged),
        content: isFile
          ? fileContent(query.query.select[0]?.expr.type)
          : { "application/json": { schema: rowsSchema(manifest, route, query) }, ...EVENT_STREAM_DESCRIBED },
      },
      ...(route.method === "get" ? { "304": { description: "The client already has this response." } } : {}),
      ...errorResponses(codes),
    },
  };
  return schemas.nameIn(operation, route, path);
}

function describeAnswer({ file_response: isFile, one_row: isOne }: ManifestQueryRoute): string {
  if (isFile === true) return "The file.";
  return isOne ? "The row." : "The rows.";
}

/** The names in a route's path: `id` of `/photos/{id}`. */
export function pathParameters({ path }: Pick<ManifestQueryRoute, "path">): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
}

/** Parameters in the URL, or members of the body. */
function describeParameters(route: ManifestQueryRoute, query: ManifestQuery): { readonly [key: string]: Json } {
  const parameters = query.parameters.filter(({ name }) => route.inputs.includes(name));
  const schemas = parameters.map((parameter) => [parameter.name, parameterSchema(parameter)] as const);
  const required = parameters.filter((parameter) => parameter.default === undefined).map(({ name }) => name);
  const pages = !route.one_row && isMaybePageable(query) ? PAGE_PARAMETERS_DESCRIBED : [];
  const inPath = pathParameters(route);
  const inUrl = ([name, schema]: readonly [string, Json]) => {
    const isPart = inPath.includes(name);
    return { name, in: isPart ? "path" : "query", required: isPart || required.includes(name), schema };
  };
  if (route.method === "get") return { parameters: [...schemas.map(inUrl), ...pages] };
  const [parts, members] = [true, false].map((isPart) => schemas.filter(([name]) => inPath.includes(name) === isPart));
  const needed = required.filter((name) => !inPath.includes(name));
  const schema = {
    type: "object",
    properties: Object.fromEntries(members ?? []),
    required: needed,
    additionalProperties: false,
  } as const;
  const listed = [...(parts ?? []).map(inUrl), ...pages];
  return {
    ...(listed.length === 0 ? {} : { parameters: listed }),
    requestBody: withForm(
      { required: needed.length > 0, content: { "application/json": { schema } } },
      schema,
      route.uploads ?? [],
    ),
  };
}

function parameterSchema(parameter: ManifestParameter): Json {
  const schema = valueSchema(parameter.type, parameter.nullable);
  const { type, default: value } = parameter;
  return value === undefined ? schema : { ...schema, default: literalJson({ type, value }) };
}

/** URL parameters of a list query in addition to its own. */
const PAGE_PARAMETERS_DESCRIBED = [
  {
    name: "page_size",
    in: "query",
    required: false,
    description: "Rows of a page. Without it and without a cursor, the response has all rows.",
    schema: { type: "integer", minimum: 1 },
  },
  {
    name: "cursor",
    in: "query",
    required: false,
    description: "Where the page begins: from the `Link` of the page before.",
    schema: { type: "string" },
  },
] as const;

/** The same query as a live query. */
const EVENT_STREAM_DESCRIBED = {
  "text/event-stream": {
    schema: {
      type: "string",
      description:
        "Server-sent events: `result` (`rows`, `ids`), then after commits `change` (`added`, `removed`, `changed`) or `result` again; `problem` before an early end. `Last-Event-ID` resumes.",
    },
  },
} as const;

/** Whether a query may have pages. A query whose rows Python filters or sorts has none; planning detects this. */
function isMaybePageable({ query }: ManifestQuery): boolean {
  return query.sample === null && query.tail === null && !query.distinct;
}

/** The headers of a query's response. */
function describeHeaders(route: ManifestQueryRoute, isPaged: boolean) {
  const text = { type: "string" } as const;
  const headers = {
    ...(isPaged
      ? { Link: { description: 'The next page, with rel="next"; none on the last one.', schema: text } }
      : {}),
    ...(route.method === "get" ? { ETag: { description: "Changes when the response does.", schema: text } } : {}),
  };
  return Object.keys(headers).length === 0 ? {} : { headers };
}

/** The response of a query route. */
function rowsSchema(manifest: Manifest, route: ManifestQueryRoute, declared: ManifestQuery): Json {
  const { query, return_scalar: returnScalar } = declared;
  // An outer join can give null for columns that are never null in their table.
  const outer = query.joins.some(({ kind }) => kind !== "inner" && kind !== "cross");
  const values = query.select.map(({ name, expr }) => {
    return [name, valueSchema(expr.type, expr.nullable || outer || readsComputed(manifest, declared, expr))] as const;
  });
  const row: Json =
    returnScalar && values[0] !== undefined
      ? values[0][1]
      : {
          type: "object",
          properties: Object.fromEntries(values),
          required: values.map(([name]) => name),
          additionalProperties: false,
        };
  if (route.one_row) return row;
  const rows = { type: "array", items: row };
  return returnScalar
    ? rows
    : { type: "object", properties: { rows }, required: ["rows"], additionalProperties: false };
}

/** Whether a value may be null because a cell that it reads failed. Computed columns can fail, whatever their type
 *  says. */
function readsComputed(manifest: Manifest, { query }: ManifestQuery, expr: Expr): boolean {
  const computed = new Set<string>();
  for (const { table, as } of [query.from, ...query.joins]) {
    const { columns = [] } = manifest.tables.find(({ name }) => name === table) ?? {};
    for (const column of columns) {
      if (column.computed !== null && !column.primary_key) computed.add(`${as}.${column.name}`);
    }
  }
  let found = false;
  visit(expr, (node) => {
    found ||= node.node === "column" && computed.has(`${node.of ?? query.from.as}.${node.name}`);
  });
  // A count is never null.
  return found && !((expr.node === "aggregate" || expr.node === "window") && expr.fn === "count");
}
