import { ROLES, type RoutePermission, roleHas } from "@appdb/contract/permissions";
import type { RouteSchemas } from "@appdb/contract/routes/api";
import * as schemas from "@appdb/contract/routes/control";
import { CONTROL_API } from "@appdb/contract/routes/control-api";
import { AUTH_PATH, type ControlRoute, type ControlRouteName } from "@appdb/contract/routes/control-paths";
import { VERSION } from "@appdb/contract/version";
import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { cookiePrefix } from "../identity/tokens/session-cookie.ts";

type Json = { [key: string]: unknown };

/** Adds `/v1/openapi.json`: OpenAPI 3.1, generated from the contract's routes and schemas. */
export function addOpenapi(
  app: FastifyInstance,
  site: { readonly url: string },
  auth: Readonly<Record<string, z.ZodType>>,
): void {
  let text: string | undefined;
  app.get("/v1/openapi.json", { config: { permission: "public" } }, async (_request, reply) => {
    text ??= JSON.stringify(writeOpenapi(site.url, auth));
    return reply.type("application/json; charset=utf-8").send(text);
  });
}

/** Generates the document. `auth` has the bodies of the routes below /v1/auth, by path. */
export function writeOpenapi(url: string, auth: Readonly<Record<string, z.ZodType>>): Json {
  const found: Record<string, Json> = { Problem: PROBLEM };
  const components: Components = { found, named: nameSchemas() };
  const paths: Record<string, Json> = {};
  for (const name of Object.keys(CONTROL_API) as ControlRouteName[]) {
    const { path, method } = CONTROL_API[name];
    const shown = path.replaceAll(/:([a-z]+)/g, "{$1}");
    paths[shown] = { ...paths[shown], [method.toLowerCase()]: writeOperation(name, components) };
  }
  for (const [route, body] of Object.entries(auth)) {
    paths[`${AUTH_PATH}/${route}`] = { post: writeAuthOperation(route, body, components) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Control plane",
      version: VERSION,
      description: "Accounts, organizations, keys, secrets and databases.",
    },
    servers: [{ url }],
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(found).sort(([left], [right]) => (left < right ? -1 : 1))),
      securitySchemes: {
        api_key: { type: "apiKey", in: "header", name: "X-api-key" },
        session: { type: "http", scheme: "bearer", description: "The token of `cli login`." },
        browser: { type: "apiKey", in: "cookie", name: `${cookiePrefix(url.startsWith("https:"))}.session_token` },
      },
    },
  };
}

interface Components {
  /** Schemas used so far, by name. */
  readonly found: Record<string, Json>;
  /** Schemas of the contract with a name. Others are inlined. */
  readonly named: ReturnType<typeof nameSchemas>;
}

/** Content types of answers other than JSON. */
const TYPES = {
  lines: "application/x-ndjson",
  events: "application/x-ndjson",
  text: "text/plain",
  file: "application/octet-stream",
  tunnel: "application/octet-stream",
  rows: "application/x-ndjson",
} as const;

function writeOperation(name: ControlRouteName, components: Components): Json {
  const route: ControlRoute & Omit<RouteSchemas, "query"> & { readonly query?: z.ZodObject } = CONTROL_API[name];
  const { path, method, permission, summary, streams, answers, body, query, answer, status = 200 } = route;
  const json = (schema: z.ZodType, io: "input" | "output") => ({
    "application/json": { schema: toSchema(schema, io, components) },
  });
  const params = [...path.matchAll(/:([a-z]+)/g)].map(([, param]) => ({
    name: param,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const queries = Object.entries(query?.shape ?? {}).map(([param, schema]) => ({
    name: param,
    in: "query",
    schema: toSchema(schema, "input", components),
  }));
  const keys =
    method === "GET" ? [] : [{ name: "Idempotency-Key", in: "header", schema: { type: "string", maxLength: 255 } }];
  return {
    operationId: name,
    summary,
    description: describe(permission),
    parameters: [...params, ...queries, ...keys],
    ...(body === undefined
      ? {}
      : { requestBody: { required: !body.safeParse(undefined).success, content: json(body, "input") } }),
    ...(streams === undefined ? {} : { requestBody: { required: true, content: { [streams]: {} } } }),
    responses: {
      [status]: {
        description: "Done",
        ...(answers === undefined ? {} : { content: { [TYPES[answers]]: {} } }),
        ...(answers !== undefined || answer === undefined ? {} : { content: json(answer, "output") }),
      },
      default: REFUSED,
    },
    security: permission === "public" ? [] : [{ api_key: [] }, { session: [] }, { browser: [] }],
  };
}

function writeAuthOperation(route: string, body: z.ZodType, components: Components): Json {
  return {
    operationId: route.replaceAll(/[/-](.)/g, (_, letter: string) => letter.toUpperCase()),
    summary: route,
    requestBody: { required: true, content: { "application/json": { schema: toSchema(body, "input", components) } } },
    responses: {
      200: { description: "Done", content: { "application/json": { schema: { type: "object" } } } },
      default: REFUSED,
    },
    security: [],
  };
}

function describe(permission: RoutePermission): string {
  if (permission === "public") return "Public.";
  if (permission === "signed_in") return "Requires a signed-in caller.";
  return `Needs the permission ${permission}: ${ROLES.filter((role) => roleHas(role, permission)).join(", ")}.`;
}

function nameSchemas() {
  const named = z.registry<{ id: string }>();
  for (const [name, schema] of Object.entries(schemas)) {
    if (!name.endsWith("Schema") || !(schema instanceof z.ZodObject)) continue;
    const id = name.slice(0, -"Schema".length);
    named.add(schema, { id: `${id[0]?.toUpperCase()}${id.slice(1)}` });
  }
  return named;
}

function toSchema(schema: z.ZodType, io: "input" | "output", components: Components): Json {
  const { named, found } = components;
  const {
    $schema: _,
    $defs,
    ...json
  } = z.toJSONSchema(schema, {
    io,
    metadata: named,
    target: "draft-2020-12",
    override: ({ jsonSchema }) => {
      // answers may gain fields
      if (io === "output" && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  for (const [name, inner] of Object.entries($defs ?? {})) found[name] = rewrite(inner) as Json;
  return rewrite(json) as Json;
}

/** Turns references within one schema into references within the document. Skips names of properties. */
function rewrite(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rewrite);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== "id" || typeof (value as Json)["id"] !== "string")
      .map(([key, inner]) => [
        key,
        key === "$ref" && typeof inner === "string"
          ? inner.replace("#/$defs/", "#/components/schemas/")
          : rewrite(inner),
      ]),
  );
}

const PROBLEM: Json = {
  type: "object",
  description: "RFC 9457; docs/errors.md lists the codes.",
  required: ["type", "title", "status", "detail", "code"],
  properties: {
    type: { type: "string" },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string", description: "What happened, with the actual values." },
    code: { type: "string", description: "Permanent; for programs." },
    hint: { type: "string", description: "One next step." },
    instance: { type: "string", description: "The request's id." },
    errors: {
      type: "array",
      items: { type: "object", properties: { pointer: { type: "string" }, detail: { type: "string" } } },
    },
    meta: { type: "object" },
  },
};
const REFUSED: Json = {
  description: "Refused",
  content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
};
