import {
  aColumn,
  aComputed,
  aManifest,
  aRowRoute,
  aTable,
  aUuid7Key,
  call,
  col,
  lit,
} from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import type { Json } from "../kinds/kind.ts";
import { NamedSchemas } from "../openapi/named-schemas.ts";
import { valueSchema } from "../openapi/schemas.ts";
import { describeService } from "./openapi.ts";

const source = { file: "app.py", line: 1 };
const manifest = aManifest({
  tables: [
    aTable("docs", [
      aUuid7Key(),
      aColumn("title", "string", { comment: "What it is called" }),
      aColumn("n", "int", { nullable: true }),
      aColumn("extra", "json", { nullable: true }),
      aComputed("loud", call("string.upper", "string", col("title", "string"))),
    ]),
  ],
  services: [
    {
      name: "ingest",
      prefix: "/v1",
      source,
      routes: [
        {
          kind: "insert",
          method: "post",
          path: "/docs-in",
          table: "docs",
          inputs: ["title", "n", "extra"],
          outputs: ["id", "loud", "n"],
          on_error: "abort",
          handler: null,
          source,
        },
        {
          kind: "update",
          method: "post",
          path: "/docs-change",
          table: "docs",
          key: ["id"],
          inputs: ["title", "n"],
          outputs: ["loud"],
          on_error: "abort",
          handler: null,
          source,
        },
        {
          kind: "delete",
          method: "post",
          path: "/docs-drop",
          table: "docs",
          match_columns: ["n", "loud"],
          source,
        },
      ],
    },
  ],
});

// biome-ignore lint/suspicious/noExplicitAny: the test only inspects the document
function describe(): any {
  const [service] = manifest.services;
  if (service === undefined) throw new Error("no service");
  return whole(describeService(manifest, service));
}

/** A document with references to row schemas replaced by the schemas. References to `Problem` stay.
 *  // biome-ignore lint/suspicious/noExplicitAny: the test only inspects the document */
// biome-ignore lint/suspicious/noExplicitAny: the test only inspects the document
function whole(document: any): any {
  const { schemas } = document.components;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const resolve = (part: any): any =>
    JSON.parse(JSON.stringify(part), (_, value) => {
      const name = /^#\/components\/schemas\/(.*)$/.exec(value?.$ref)?.[1];
      return name === undefined || name === "Problem" ? value : resolve(schemas[name]);
    });
  return resolve(document);
}

test("a route is described under its prefix with its inputs and outputs", () => {
  const operation = describe().paths["/v1/docs-in"].post;
  expect(operation.operationId).toBe("insert_docs_in_v1_docs_in_post");
  const [one, many] = operation.requestBody.content["application/json"].schema.oneOf;
  expect(many).toEqual({ type: "array", items: one });
  expect(operation.requestBody.description).toContain("application/x-ndjson");
  expect(one).toEqual({
    type: "object",
    properties: {
      title: { type: "string", examples: ["text"], description: "What it is called" },
      n: { type: ["integer", "null"], format: "int64", examples: [1] },
      extra: {},
    },
    required: ["title"],
    additionalProperties: false,
  });
  const [answer, answers, count] = operation.responses["200"].content["application/json"].schema.oneOf;
  expect(answers).toEqual({ type: "array", items: answer });
  expect(count.required).toEqual(["num_rows"]);
  expect(operation.responses["200"].content["application/x-ndjson"].schema.type).toBe("string");
  expect(Object.keys(answer.properties)).toEqual(["id", "loud", "n"]);
  expect(answer.required).toEqual(["id", "loud", "n"]);
});

test("bodies, responses and rows have names that become class names", () => {
  const [service] = manifest.services;
  if (service === undefined) throw new Error("no service");
  // biome-ignore lint/suspicious/noExplicitAny: the test only inspects the document
  const { paths, components } = describeService(manifest, service) as any;
  expect(Object.keys(components.schemas)).toEqual([
    "Problem",
    "Body_insert_docs_in_v1_docs_in_post",
    "Docs_inResponse",
    "InsertedRows",
    "Body_update_docs_change_v1_docs_change_post",
    "Docs_changeResponse",
    "Body_delete_docs_drop_v1_docs_drop_post",
    "DeleteResponse",
  ]);
  const { schema } = paths["/v1/docs-in"].post.responses["200"].content["application/json"];
  const row = { $ref: "#/components/schemas/Docs_inResponse" };
  expect(schema.oneOf.slice(0, 2)).toEqual([row, { type: "array", items: row }]);
});

test("routes with equal names and different responses are numbered", () => {
  const schemas = new NamedSchemas();
  const one: Json = { type: "object", properties: { id: { type: "string" } } };
  const other: Json = { type: "object", properties: { id: { type: "integer" } } };
  expect(schemas.add("QResponse", one)).toEqual({ $ref: "#/components/schemas/QResponse" });
  expect(schemas.add("QResponse", other)).toEqual({ $ref: "#/components/schemas/QResponse2" });
  expect(schemas.add("QResponse", one)).toEqual({ $ref: "#/components/schemas/QResponse" });
});

test("a nullable column takes any JSON; others take any except null", () => {
  expect(valueSchema({ kind: "json" }, true)).toEqual({});
  expect(valueSchema({ kind: "json" }, false)).toEqual({
    type: ["object", "array", "string", "number", "boolean"],
    items: {},
    examples: [{ key: "value" }],
  });
  expect(valueSchema({ kind: "int" }, true).type).toEqual(["integer", "null"]);
});

test("where failing cells are null, computed outputs may be, and a header names them", () => {
  const [service] = manifest.services;
  const [route] = service?.routes ?? [];
  if (service === undefined || route === undefined) throw new Error("no route");
  const ignoring = { ...service, routes: [{ ...route, on_error: "ignore" as const }] };
  const { responses } = whole(describeService(manifest, ignoring)).paths["/v1/docs-in"].post;
  const { properties } = responses["200"].content["application/json"].schema.oneOf[0];
  expect(properties.loud).toMatchObject({ type: ["string", "null"] });
  expect(properties.id).toMatchObject({ type: "string", format: "uuid" });
  expect(Object.keys(responses["200"].headers)).toEqual(["idempotency-replayed", "x-cell-errors"]);
});

test("a compute route over a view is described with the view's names", () => {
  const size = aComputed("size", call("string.upper", "string", col("title", "string")));
  const condition = call("op.eq", "bool", col("n", "int", true), lit("3", "int"));
  const definition = { base: "docs", filter: { text: "n == 3", expr: condition }, columns: null };
  const view = { ...aTable("top", [size], { comment: "The best" }), view: definition };
  const route = { ...aRowRoute("top", ["title", "n"], ["title", "size"]), kind: "compute" as const };
  const service = { name: "views", prefix: "", source, routes: [route] };
  const { post } = whole(
    describeService(aManifest({ tables: [...manifest.tables, view], services: [service] }), service),
  ).paths["/top"];
  expect(post).toMatchObject({
    summary: "Compute the columns of a row of top, storing nothing",
    description: "The best",
    tags: ["top"],
  });
  const { schema } = post.responses["200"].content["application/json"];
  expect(schema.anyOf[0].required).toEqual(["title", "size"]);
  expect(Object.keys(schema.anyOf[0].properties)).toEqual(["title", "size"]);
  expect(schema.anyOf[1]).toEqual({ type: "null" });
});

test("every possible error of a route is declared as a problem", () => {
  const { responses } = describe().paths["/v1/docs-in"].post;
  const statuses = ["200", "204", "400", "408", "409", "413", "415", "422", "503", "504", "507"];
  expect(Object.keys(responses).sort()).toEqual(statuses);
  expect(responses["409"].description).toContain("unique_violation");
  expect(responses["422"].content["application/problem+json"].schema.$ref).toBe("#/components/schemas/Problem");
  expect(describe().components.schemas.Problem.required).toContain("code");
});

test("a route that stores describes how to retry a request safely", () => {
  const { parameters, responses } = describe().paths["/v1/docs-in"].post;
  expect(parameters).toContainEqual(
    expect.objectContaining({ name: "Idempotency-Key", in: "header", required: false }),
  );
  expect(Object.keys(responses["200"].headers)).toEqual(["idempotency-replayed"]);
});

test("describes return=minimal and the result of an application function", () => {
  const { parameters, responses } = describe().paths["/v1/docs-change"].post;
  expect(parameters.map(({ name }: { name: string }) => name)).toEqual(["Idempotency-Key", "Prefer"]);
  expect(Object.keys(responses["204"].headers)).toEqual(["preference-applied"]);
  const [service] = manifest.services;
  const [route] = service?.routes ?? [];
  const response = { type: "array", items: { type: "string" } };
  const handler = { id: "app:f", module: "app", name: "f", parameters: ["loud"], response };
  if (service === undefined || route?.kind !== "insert") throw new Error("no service");
  const changed = { ...service, routes: [{ ...route, handler }] };
  const document = whole(describeService(manifest, changed));
  expect(document.paths["/v1/docs-in"].post.responses["200"].content["application/json"].schema).toEqual(response);
});

test("an update requires only the key and may answer null", () => {
  const operation = describe().paths["/v1/docs-change"].post;
  expect(operation.operationId).toBe("update_docs_change_v1_docs_change_post");
  const body = operation.requestBody.content["application/json"].schema;
  expect(Object.keys(body.properties)).toEqual(["id", "title", "n"]);
  expect([body.required, body.additionalProperties]).toEqual([["id"], false]);
  const answer = operation.responses["200"].content["application/json"].schema;
  expect(answer.properties.loud.type).toEqual(["string", "null"]);
  expect(Object.keys(operation.responses)).toContain("404");
});

test("a delete requires every match column and answers a number", () => {
  const operation = describe().paths["/v1/docs-drop"].post;
  const body = operation.requestBody.content["application/json"].schema;
  expect(body.required).toEqual(["n", "loud"]);
  expect([body.properties.n.type, body.properties.loud.type]).toEqual([
    ["integer", "null"],
    ["string", "null"],
  ]);
  const answer = operation.responses["200"].content["application/json"].schema;
  expect(answer.required).toEqual(["num_rows"]);
  expect(Object.keys(operation.responses)).not.toContain("404");
});

test("a background route answers a job, whose URL reports the status", () => {
  const [service] = manifest.services;
  const [route] = service?.routes ?? [];
  if (service === undefined || route === undefined || route.kind === "handler") throw new Error("no route");
  const later = { ...route, background: { attempts: 1, expires_s: 60 } };
  // biome-ignore lint/suspicious/noExplicitAny: the test only inspects the document
  const document = describeService(manifest, { ...service, routes: [later] }) as any;
  const { responses, requestBody } = document.paths["/v1/docs-in"].post;
  expect(requestBody).toBeDefined();
  expect(responses["200"].content["application/json"].schema.$ref).toContain("BackgroundJobResponse");
  expect(responses).not.toHaveProperty("204");
  expect(Object.keys(document.paths["/_jobs/{id}"])).toEqual(["get", "delete"]);
  expect(document.components.schemas.JobStatusResponse.required).toContain("result");
  expect(describe().paths).not.toHaveProperty("/_jobs/{id}");
});

test("query values that may have failed are nullable; counts are not", () => {
  const [service] = manifest.services;
  if (service === undefined) throw new Error("no service");
  const column = (name: string) => ({ ...col(name, "string"), of: "docs" });
  const count = { node: "aggregate", fn: "count", is_udf: false, args: [column("loud")], kwargs: {} } as const;
  const select = [
    { name: "title", expr: column("title") },
    { name: "loud", expr: column("loud") },
    { name: "louder", expr: call("string.upper", "string", column("loud")) },
    { name: "known", expr: { ...count, type: { kind: "int" }, nullable: false } as const },
  ];
  const clauses = { joins: [], where: null, group_by: [], having: null, order_by: [], limit: null, offset: null };
  const query = { from: { table: "docs", as: "docs" }, ...clauses, select, distinct: false, sample: null, tail: null };
  const declared = {
    id: "app:q",
    name: "q",
    module: "app",
    comment: null,
    parameters: [],
    return_scalar: false,
    source,
  };
  const route = {
    kind: "query",
    method: "get",
    path: "/q",
    query: "app:q",
    inputs: [],
    one_row: true,
    source,
  } as const;
  // biome-ignore lint/suspicious/noExplicitAny: the described parts of a query are enough
  const asked = { ...manifest, queries: [{ ...declared, query } as any] };
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const document = whole(describeService(asked, { ...service, routes: [route as any] }));
  const { properties } = document.paths["/v1/q"].get.responses["200"].content["application/json"].schema;
  const types = Object.entries<{ type: unknown }>(properties).map(([name, { type }]) => [name, type]);
  expect(Object.fromEntries(types)).toEqual({
    title: "string",
    loud: ["string", "null"],
    louder: ["string", "null"],
    known: "integer",
  });
});
