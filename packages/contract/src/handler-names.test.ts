import { expect, test } from "vitest";
import { handlerNames } from "./handler-names.ts";
import type { ManifestHandlerRoute } from "./manifest.ts";

function route(openapi: ManifestHandlerRoute["openapi"]): ManifestHandlerRoute {
  const handler = { id: "app:f", module: "app", name: "f" };
  return {
    kind: "handler",
    method: "get",
    path: "/",
    handler,
    openapi,
    timeout_s: null,
    source: { file: "a", line: 1 },
  };
}

function json(properties: object, required: string[]): object {
  return { content: { "application/json": { schema: { type: "object", properties, required } } } };
}

test("a handler takes path and URL parameters and body members", () => {
  const parameters = [
    { name: "id", in: "path", required: true, schema: {} },
    { name: "q", in: "query", required: false, schema: {} },
  ];
  const operation = {
    parameters,
    requestBody: json({ x: {}, y: {} }, ["x"]),
    responses: { "200": json({ a: {} }, []) },
  };
  expect(handlerNames(route(operation))).toEqual({
    inputs: ["id", "q", "x", "y"],
    required: ["id", "x"],
    outputs: ["a"],
  });
});

test.each([
  { openapi: null },
  { openapi: {} },
  {
    openapi: { responses: { "200": { description: "The answer.", content: { "application/json": { schema: {} } } } } },
  },
])("a handler without body and parameters takes none (%o)", ({ openapi }) => {
  expect(handlerNames(route(openapi))).toEqual({ inputs: [], required: [], outputs: [] });
});
