import { expect, test } from "vitest";
import { callCommand } from "./call-command.ts";

const AT = "http://127.0.0.1:41000/ingest";

const TABLE_ROUTE = { route_type: "insert" as const, table: "docs", query: null, one_row: false, outputs: [] };

test("a route that takes a body is called with its fields to fill in", () => {
  const route = { ...TABLE_ROUTE, method: "POST", path: "/docs", inputs: ["title", "it's"] };
  expect(callCommand(AT, route)).toBe(
    `curl -X POST '${AT}/docs' \\\n  -H "X-api-key: $SERVICE_API_KEY" \\\n  -H 'content-type: application/json' \\\n  -d '{"title":"","it'\\''s":""}'`,
  );
});

test("a query is called by its address", () => {
  const route = { ...TABLE_ROUTE, method: "GET", path: "/by_title", inputs: ["title", "a b"] };
  expect(callCommand(AT, route)).toBe(`curl '${AT}/by_title?title=&a%20b=' \\\n  -H "X-api-key: $SERVICE_API_KEY"`);
});
