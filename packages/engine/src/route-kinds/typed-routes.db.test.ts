import type { Manifest, ManifestRowRoute } from "@appdb/contract/manifest";
import { aColumn, aComputed, aFunction, aManifest, aRowRoute, aTable, col, udf } from "@appdb/testkit/manifest-builder";
import { openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { afterEach, beforeEach, expect, test } from "vitest";

let catalog: TestCatalog;

beforeEach(async () => {
  catalog = await openTestCatalog();
});

afterEach(async () => {
  await catalog[Symbol.asyncDispose]();
});

test("a Json value that violates its schema is refused with its pointer", async () => {
  const schema = {
    type: "object",
    properties: { a: { type: "integer" } },
    required: ["a"],
    additionalProperties: false,
  };
  const doc = aColumn("doc", "json", { nullable: true, type: { kind: "json", schema } });
  const vector = aColumn("v", "array", { type: { kind: "array", dtype: "float32", shape: [2] } });
  const post = await serve({ tables: [aTable("t", [doc, vector])] }, [aRowRoute("t", ["doc", "v"], ["doc", "v"])]);
  const good = await post("/t", '{"doc": {"a": 12345678901234567890}, "v": [1, 0.1]}');
  expect(good.text).toBe('{"doc":{"a": 12345678901234567890},"v":[1.0,0.1]}');
  const bad = await post("/t", '{"doc": {"a": "x"}, "v": [1]}');
  expect(bad.status).toBe(422);
  expect(bad.json.errors).toEqual([
    { pointer: "/doc/a", detail: 'Expected Int, got "x".' },
    { pointer: "/v", detail: "The list has 1 element; Array[(2,), float32] requires 2." },
  ]);
  expect((await post("/t", { doc: null, v: [1, 2] })).status).toBe(200);
  expect(await catalog.rows("select doc, v from t order by _row")).toEqual([
    ['{"a": 12345678901234567890}', "{1,0.1}"],
    [null, "{1,2}"],
  ]);
});

test("a computed Json value that violates its schema fails like its function", async () => {
  const type = { kind: "json" as const, schema: { type: "array", items: { type: "integer" } } };
  const list = aComputed("list", { ...udf("udfs:list", "json", col("n", "int")), type }, { type });
  const post = await serve(
    { tables: [aTable("t", [aColumn("n", "int"), list])], functions: [aFunction("udfs:list", "json")] },
    [aRowRoute("t", ["n"], ["list"]), aRowRoute("t", ["n"], ["list"], { kind: "compute", path: "/compute" })],
  );
  catalog.steps.list = ({ n }) => (n === 1 ? "[1,2]" : '["x"]');
  expect((await post("/t", { n: 1 })).json).toEqual({ list: [1, 2] });
  for (const path of ["/t", "/compute"]) {
    const failed = await post(path, { n: 2 });
    expect([failed.status, failed.json.code]).toEqual([400, "function_failed"]);
    expect(failed.json.detail).toContain('udfs:list returned the wrong type: /0: Expected Int, got "x"');
  }
  expect(await catalog.rows("select count(*) from t")).toEqual([["1"]]);
});

async function serve(parts: Partial<Manifest>, routes: ManifestRowRoute[]) {
  const service = { name: "api", prefix: "", routes, source: { file: "app.py", line: 1 } };
  const manifest = aManifest({ ...parts, services: [service] });
  await catalog.apply(manifest);
  const { post } = await catalog.serve(manifest);
  return (path: string, body: unknown) =>
    post(path, Buffer.from(typeof body === "string" ? body : JSON.stringify(body)));
}
