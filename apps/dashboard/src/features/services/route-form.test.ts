import { expect, test } from "vitest";
import { buildCall } from "./build-call.ts";
import { describeFile, fieldOf, printBody, problemOf, readRefusal } from "./read-answer.ts";
import { readRouteForm } from "./route-form.ts";

const DOC = {
  paths: {
    "/docs": {
      post: {
        summary: "Insert a row into docs",
        parameters: [{ name: "Prefer", in: "header", schema: { type: "string" } }],
        requestBody: { $ref: "#/components/requestBodies/Row" },
      },
    },
    "/visits/{id}": {
      put: {
        parameters: [
          { name: "id", in: "path", required: true, schema: { type: "string", format: "uuid" } },
          { name: "loud", in: "query", schema: { type: "boolean", default: false } },
          { name: "X-Language", in: "header", schema: { enum: ["en", "de"] } },
        ],
        requestBody: { content: { "application/json": { schema: { type: "object", additionalProperties: true } } } },
      },
    },
    "/photos": {
      post: {
        requestBody: {
          content: {
            "multipart/form-data": {
              schema: {
                type: "object",
                required: ["title", "picture"],
                properties: {
                  title: { type: "string" },
                  note: { type: ["string", "null"] },
                  n: { type: ["integer", "null"] },
                  picture: { type: "string", contentMediaType: "application/octet-stream" },
                  second: { type: "string", format: "binary" },
                  third: { type: "string", format: "uri", contentMediaType: "image/*" },
                },
              },
            },
            "application/json": {
              schema: { type: "object", properties: { picture: { type: "string", format: "uri" } } },
            },
          },
        },
      },
    },
    "/photo": { post: { requestBody: { content: { "multipart/form-data": {} } } } },
  },
  components: {
    requestBodies: {
      Row: {
        content: {
          "application/json": {
            schema: { oneOf: [{ $ref: "#/components/schemas/Row" }, { type: "array" }] },
          },
        },
      },
    },
    schemas: {
      Row: {
        type: "object",
        required: ["title", "until", "count"],
        properties: {
          title: { type: "string", examples: ["text"] },
          until: { type: ["string", "null"], format: "date", examples: ["2026-01-02"] },
          count: { type: "integer", format: "int64" },
          meta: { anyOf: [{ type: "object" }, { type: "null" }], description: "Whatever there is." },
          kind: { anyOf: [{ type: "string", enum: ["a", "b"] }, { type: "null" }] },
        },
      },
    },
  },
};

test("a row's fields are its columns, with type, required and nullable", () => {
  const form = readRouteForm(DOC, { method: "POST", path: "/docs" });
  expect(form).toMatchObject({ summary: "Insert a row into docs", has_body: true, other_type: undefined });
  expect(form.fields).toMatchObject([
    { name: "title", place: "body", kind: "text", is_required: true, is_nullable: false, help: "" },
    { name: "until", kind: "text", is_required: true, is_nullable: true, help: "date, such as 2026-01-02" },
    { name: "count", kind: "number", is_required: true },
    { name: "meta", kind: "json", is_required: false, help: "Whatever there is." },
    { name: "kind", kind: "choice", choices: ["a", "b"], is_nullable: true },
  ]);
});

test("path, query and header parameters are fields; a body of unknown shape is written as a whole", () => {
  const form = readRouteForm(DOC, { method: "PUT", path: "/visits/{id}" });
  expect(form.fields.map(({ name, place, kind }) => [name, place, kind])).toEqual([
    ["id", "path", "text"],
    ["loud", "query", "boolean"],
    ["X-Language", "header", "choice"],
  ]);
  const values: Record<string, string> = { id: "a/b", loud: "true", "X-Language": "de" };
  const built = buildCall(form, {
    valueOf: ({ name }) => values[name] ?? "",
    fileOf: () => undefined,
    body: '{"host": 1}',
  });
  expect(built.call).toEqual({
    method: "PUT",
    path: "/visits/a%2Fb?loud=true",
    headers: { "x-language": "de" },
    body: '{"host": 1}',
    form: null,
  });
  expect([...buildCall(form, { valueOf: () => "", fileOf: () => undefined, body: "{" }).problems.keys()]).toEqual([
    "path id",
    "body",
  ]);
});

test("an undescribed route has the parameters of its path; a file upload is marked", () => {
  expect(readRouteForm({}, { method: "DELETE", path: "/rooms/{room}/keys/{key:path}" })).toMatchObject({
    fields: [{ name: "room" }, { name: "key" }],
    has_body: true,
  });
  expect(readRouteForm(undefined, { method: "GET", path: "/rooms" })).toMatchObject({ fields: [], has_body: false });
  expect(readRouteForm(DOC, { method: "POST", path: "/photo" }).other_type).toBe("multipart/form-data");
});

test("a body keeps all digits, and empty values are omitted, null or empty text", () => {
  const form = readRouteForm(DOC, { method: "POST", path: "/docs" });
  const build = (values: Record<string, string>) =>
    buildCall(form, { valueOf: ({ name }) => values[name] ?? "", fileOf: () => undefined, body: undefined });
  const { call, problems } = build({ count: "9007199254740993", meta: '{"n": 1.50}', kind: "b" });
  expect(call.body).toBe(
    '{\n  "title": "",\n  "until": null,\n  "count": 9007199254740993,\n  "meta": {"n": 1.50},\n  "kind": "b"\n}',
  );
  expect(problems.size).toBe(0);
  // the service explains these values
  expect(JSON.parse(build({ title: 'a"b', count: "many" }).call.body ?? "")).toEqual({
    title: 'a"b',
    until: null,
    count: "many",
  });
  expect([...build({ meta: "{" }).problems]).toEqual([["body meta", "This is not valid JSON yet."]]);
});

test("a route with files is called by a form", () => {
  const form = readRouteForm(DOC, { method: "POST", path: "/photos" });
  expect(form).toMatchObject({ has_body: true, takes_files: true, other_type: undefined });
  expect(form.fields.map(({ name, kind, help }) => [name, kind, help])).toEqual([
    ["title", "text", ""],
    ["note", "text", ""],
    ["n", "number", "integer"],
    ["picture", "file", ""],
    ["second", "file", ""],
    ["third", "text", "uri"],
  ]);
  const file = new File(["abc"], "a.png");
  const build = (files: Record<string, File>, body?: string) =>
    buildCall(form, { valueOf: ({ name }) => (name === "n" ? "7" : ""), fileOf: ({ name }) => files[name], body });
  expect(build({ picture: file })).toEqual({
    problems: new Map(),
    call: {
      method: "POST",
      path: "/photos",
      headers: {},
      body: null,
      form: [
        { name: "title", value: "" },
        { name: "n", value: "7" },
        { name: "picture", value: file },
      ],
    },
  });
  expect([...build({}).problems]).toEqual([["body picture", "Choose a file."]]);
  const large = new File([new Uint8Array(8_000_001)], "film.mp4");
  expect([...build({ picture: file, second: large }).problems.keys()]).toEqual(["body picture", "body second"]);
  expect(build({}, '{"picture":"https://a/b.png"}').call).toMatchObject({
    body: '{"picture":"https://a/b.png"}',
    form: null,
  });
});

test("an answer that is a file has its name, and a page of it is never shown", () => {
  const answer = (type: string, disposition: string) => ({
    bytes: 3,
    headers: [
      { name: "content-type", value: type },
      { name: "content-disposition", value: disposition },
    ],
  });
  expect(describeFile(answer("image/png", `inline; filename="a_.png"; filename*=UTF-8''a%C3%A4.png`))).toEqual({
    kind: "image",
    type: "image/png",
    bytes: 3,
    name: "aä.png",
  });
  expect(describeFile(answer("text/html; charset=utf-8", 'attachment; filename="a.html"'))).toMatchObject({
    kind: "document",
    name: "a.html",
  });
  expect(describeFile(answer("image/svg+xml", ""))).toMatchObject({ kind: "document", name: "file" });
});

test("an answer is shown indented with all digits, and errors at their fields", () => {
  const headers = [{ name: "content-type", value: "application/json" }];
  expect(printBody({ body: '{"id":9007199254740993}', headers, is_cut: false })).toBe('{\n  "id": 9007199254740993\n}');
  expect(printBody({ body: '{"id":9', headers, is_cut: true })).toBe('{"id":9');
  expect(printBody({ body: "<p>", headers: [], is_cut: false })).toBe("<p>");
  expect(["/title", "/meta/0/a", "/3/title", "/a~1b", ""].map(fieldOf)).toEqual(["title", "meta", "title", "a/b", ""]);
  const refused = (errors: unknown) =>
    readRefusal({ status: 422, body: JSON.stringify({ code: "invalid_request", detail: "It does not fit.", errors }) });
  const refusal = refused([{ pointer: "/title", detail: "Expected a text." }, "odd", { pointer: 1 }]);
  expect(refusal).toMatchObject({ detail: "It does not fit.", hint: undefined });
  expect([problemOf(refusal, "title"), problemOf(refusal, "meta")]).toEqual(["Expected a text.", undefined]);
  expect(refused("many")?.errors).toEqual([]);
  expect(readRefusal({ status: 200, body: '{"code":"x","detail":"y"}' })).toBe(undefined);
});
