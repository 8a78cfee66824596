import type { Query } from "@appdb/contract/query";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { UdfRunner } from "../ports.ts";
import { QUERY_APP, QUERY_ROWS } from "../queries/testing/query-app.ts";
import { type QueriedApplication, readResult } from "./testing/read-result.ts";

let app: TestApplication;
let runner: UdfRunner;
let queried: QueriedApplication;

beforeAll(async () => {
  app = await openTestApplication(QUERY_APP);
  runner = app.workers();
  queried = { sql: app.sql, udf: () => runner };
  await app.post("/items", QUERY_ROWS);
  await app.post("/kinds", [
    { name: "k1", rank: 1 },
    { name: "k3", rank: 3 },
  ]);
});
afterAll(async () => {
  await runner?.[Symbol.asyncDispose]();
  await app?.[Symbol.asyncDispose]();
});

function queryNamed(name: string): Query {
  const found = app.manifest.queries.find((query) => query.name === name);
  if (found === undefined) throw new Error(`The file declares no query ${name}.`);
  return found.query;
}

test("queries of a request have the rows of the same named queries", async () => {
  let compared = 0;
  for (const { name, parameters, query, return_scalar: isScalar } of app.manifest.queries) {
    if (parameters.length > 0) continue;
    const { json, status } = await app.get(`/${name}`);
    if (status >= 400) {
      await expect(readResult(queried, query), name).rejects.toMatchObject({ code: json.code });
      continue;
    }
    const { columns, rows } = await readResult(queried, query);
    const list: unknown = json?.rows ?? json;
    const shown = (Array.isArray(list) ? list : [list]).map((row) =>
      isScalar ? [row] : columns.map((column) => row[column.name]),
    );
    expect(rows, name).toEqual(shown);
    compared += 1;
  }
  expect(compared).toBeGreaterThan(25);
});

test("the messages have the columns with their types, then the number of rows", async () => {
  const result = await readResult(queried, queryNamed("inner"));
  expect(result.columns).toEqual([
    { name: "sku", type: { kind: "string" }, nullable: false },
    { name: "rank", type: { kind: "int" }, nullable: false },
  ]);
  expect(result.done).toEqual({ count: 2, has_more: false });
});
