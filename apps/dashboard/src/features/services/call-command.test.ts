import { expect, test } from "vitest";
import { callCommand } from "./call-command.ts";

const AT = "http://127.0.0.1:41000/ingest";

test("a route with a body is called with it, including quotes", () => {
  const call = {
    method: "POST" as const,
    path: "/docs",
    headers: { prefer: "minimal" },
    body: `{"title":"it's"}`,
    form: null,
  };
  expect(callCommand(AT, call)).toBe(
    `curl -X POST '${AT}/docs' \\\n  -H "X-api-key: $SERVICE_API_KEY" \\\n  -H 'prefer: minimal' \\\n  -H 'content-type: application/json' \\\n  -d '{"title":"it'\\''s"}'`,
  );
});

test("a query is called by its address", () => {
  const call = { method: "GET" as const, path: "/by_title?title=&a%20b=", headers: {}, body: null, form: null };
  expect(callCommand(AT, call)).toBe(`curl '${AT}/by_title?title=&a%20b=' \\\n  -H "X-api-key: $SERVICE_API_KEY"`);
});

test("a form is called with its files by name, and texts as they are", () => {
  const form = [
    { name: "title", value: "@it's" },
    { name: "picture", value: new File([], 'a "b".png') },
  ];
  const call = { method: "POST" as const, path: "/photos", headers: {}, body: null, form };
  expect(callCommand(AT, call)).toBe(
    [
      `curl '${AT}/photos'`,
      `-H "X-api-key: $SERVICE_API_KEY"`,
      `--form-string 'title=@it'\\''s'`,
      `-F 'picture=@"a \\"b\\".png"'`,
    ].join(" \\\n  "),
  );
});
