import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import {
  aColumn,
  aComputed,
  aFunction,
  aManifest,
  aRowRoute,
  aTable,
  aUuid7Key,
  call,
  col,
  lit,
  udf,
} from "@appdb/testkit/manifest-builder";
import { type AnsweredJson, openTestCatalog, type ServedRoutes, type TestCatalog } from "@appdb/testkit/test-catalog";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SqlPool } from "../ports.ts";

let catalog: TestCatalog;
let now: number;

const MANIFEST: Manifest = aManifest({
  tables: [
    aTable("docs", [
      aUuid7Key(),
      aColumn("title", "string"),
      aComputed("loud", call("string.upper", "string", col("title", "string"))),
    ]),
    aTable("sums", [
      aUuid7Key(),
      aColumn("n", "int"),
      aColumn("at", "timestamp", { nullable: true }),
      aComputed("is_big", call("op.gt", "bool", col("n", "int"), lit("5", "int"))),
      aComputed("third", call("op.truediv", "float", col("n", "int"), lit("3000000", "int"))),
      aComputed("twice", call("op.mul", "int", col("n", "int"), lit("2", "int"))),
      aComputed("then", col("at", "timestamp", true)),
    ]),
    aTable("items", [aColumn("sku", "string", { primary_key: true }), aColumn("n", "int")]),
    aTable("rides", [
      aUuid7Key(),
      aColumn("km", "int"),
      aComputed("fare", udf("udfs:fare", "float", col("km", "int"))),
    ]),
  ],
  functions: [aFunction("udfs:fare", "float")],
  services: [
    {
      name: "api",
      prefix: "",
      source: { file: "app.py", line: 1 },
      routes: [
        aRowRoute("docs", ["title"], ["id", "loud"]),
        aRowRoute("docs", ["title"], ["loud"], { path: "/others" }),
        aRowRoute("sums", ["n", "at"], ["then", "n", "is_big", "third", "at", "twice", "id"]),
        aRowRoute("sums", ["n"], ["twice"], { path: "/twice" }),
        aRowRoute("items", ["sku", "n"], ["sku", "n"]),
        {
          kind: "update",
          method: "post",
          path: "/items/update",
          table: "items",
          key: ["sku"],
          inputs: ["n"],
          outputs: ["sku", "n"],
          on_error: "abort",
          handler: null,
          source: { file: "app.py", line: 9 },
        },
        ...[["sku"], ["n"]].map((matchColumns) => ({
          kind: "delete" as const,
          method: "post" as const,
          path: `/items/by_${matchColumns[0]}`,
          table: "items",
          match_columns: matchColumns,
          source: { file: "app.py", line: 9 },
        })),
        aRowRoute("rides", ["km"], ["id", "fare"]),
        aRowRoute("rides", ["km"], ["id", "fare"], { path: "/ignoring", on_error: "ignore" }),
      ],
    },
  ],
});

beforeEach(async () => {
  now = Date.now();
  catalog = await openTestCatalog({ clock: { now: () => now } });
  catalog.steps.fare = (row) => Number(row.km) * 2;
  await catalog.apply(MANIFEST);
});

afterEach(async () => {
  await catalog[Symbol.asyncDispose]();
});

type Post = (path: string, body: unknown, key?: string) => Promise<AnsweredJson>;

/** Serves the application like one process. */
async function serve(sql: SqlPool = catalog.sql): Promise<Post> {
  return withKeys(await catalog.serve(MANIFEST, { deps: { sql } }));
}

function withKeys({ post }: ServedRoutes): Post {
  return (path, body, key) => post(path, body, key === undefined ? {} : { headers: { "idempotency-key": key } });
}

function count(table: string): Promise<number> {
  return catalog.count(table);
}

test("a retried insert gets the first response, and its row is stored once", async () => {
  const post = await serve();
  const first = await post("/docs", { title: "straße" }, "k1");
  expect(first).toMatchObject({ status: 200, json: { loud: "STRASSE" } });
  expect(first.headers).not.toHaveProperty("idempotency-replayed");
  const again = await post("/docs", { title: "straße" }, "k1");
  expect(again).toMatchObject({ status: 200, text: first.text });
  expect(again.headers).toEqual({ ...first.headers, "idempotency-replayed": "true" });
  expect(await count("docs")).toBe(1);
});

test("a key belongs to one route, and its second row is another request", async () => {
  const post = await serve();
  expect((await post("/docs", { title: "a" }, "k1")).status).toBe(200);
  expect((await post("/others", { title: "a" }, "k1")).headers).not.toHaveProperty("idempotency-replayed");
  expect((await post("/docs", { title: "a" }, "k2")).headers).not.toHaveProperty("idempotency-replayed");
  expect((await post("/docs", { title: "a" })).status).toBe(200);
  expect(await count("docs")).toBe(4);
});

test("a reused key with another body is refused and stores nothing", async () => {
  const post = await serve();
  await post("/docs", { title: "a" }, "k1");
  const refused = await post("/docs", { title: "b" }, "k1");
  expect(refused).toMatchObject({ status: 422, json: { code: "idempotency_mismatch", meta: { key: "k1" } } });
  expect(await count("docs")).toBe(1);
});

test("an invalid key is refused before anything is stored", async () => {
  const post = await serve();
  const refused = await post("/docs", { title: "a" }, "a b");
  expect(refused).toMatchObject({ status: 400, json: { code: "invalid_idempotency_key" } });
  expect(await count("docs")).toBe(0);
});

test("accepts a key of 255 characters with quotes and backslashes", async () => {
  const post = await serve();
  const key = `"{\\,}'${"k".repeat(249)}`;
  const first = await post("/docs", { title: "a" }, key);
  expect(await post("/docs", { title: "a" }, key)).toMatchObject({ status: 200, text: first.text });
  expect(await count("docs")).toBe(1);
});

test("a failed request is not remembered, so its retry runs again", async () => {
  const post = await serve();
  await post("/items", { sku: "a", n: 1 });
  expect(await post("/items", { sku: "a", n: 2 }, "k1")).toMatchObject({
    status: 409,
    json: { code: "unique_violation" },
  });
  await catalog.sql.query({ text: "delete from items" });
  expect(await post("/items", { sku: "a", n: 2 }, "k1")).toMatchObject({ status: 200, json: { n: 2 } });
  expect(await post("/docs", { title: 1 }, "k2")).toMatchObject({ status: 422 });
  expect(await post("/docs", { title: "1" }, "k2")).toMatchObject({ status: 200 });
});

test("a retried row with its own key gets the first response, not a conflict", async () => {
  const post = await serve();
  const first = await post("/items", { sku: "a", n: 1 }, "k1");
  const again = await post("/items", { sku: "a", n: 1 }, "k1");
  expect(again).toMatchObject({ status: 200, text: first.text, headers: { "idempotency-replayed": "true" } });
});

test("a retry works without calling the function and after the table is dropped", async () => {
  const post = await serve();
  const first = await post("/rides", { km: 4 }, "k1");
  expect(first.json.fare).toBe(8);
  catalog.steps.fare = () => {
    throw new Error("the provider is away");
  };
  expect(await post("/rides", { km: 4 }, "k1")).toMatchObject({ status: 200, text: first.text });
  const doc = await post("/docs", { title: "a" }, "k1");
  await catalog.sql.query({ text: "drop table docs" });
  expect(await post("/docs", { title: "a" }, "k1")).toMatchObject({ status: 200, text: doc.text });
});

test.each([{ n: 7, at: "2024-02-29T23:30:00.5Z" }, { n: -4503599627370495, at: null }, { n: 1 }])(
  "values that PostgreSQL computes of %j are answered again to the letter",
  async (body) => {
    const post = await serve();
    const first = await post("/sums", body, "k1");
    expect(first.status).toBe(200);
    expect((await post("/sums", body, "k1")).text).toBe(first.text);
    const short = await post("/twice", { n: body.n }, "k1");
    expect(short.json).toEqual({ twice: 2 * body.n });
    expect((await post("/twice", { n: body.n }, "k1")).text).toBe(short.text);
  },
);

test("an update runs once: a retry does not undo later changes", async () => {
  const post = await serve();
  await post("/items", { sku: "a", n: 1 });
  const first = await post("/items/update", { sku: "a", n: 2 }, "k1");
  expect(first).toMatchObject({ status: 200, json: { sku: "a", n: 2 } });
  await post("/items/update", { sku: "a", n: 3 });
  const crowd = await Promise.all(Array.from({ length: 20 }, () => post("/items/update", { sku: "a", n: 2 }, "k1")));
  expect(crowd.every(({ text, headers }) => text === first.text && "idempotency-replayed" in headers)).toBe(true);
  expect((await catalog.sql.query({ text: "select n from items" })).rows).toEqual([["3"]]);
  expect(await post("/items/update", { sku: "a", n: 9 }, "k1")).toMatchObject({
    json: { code: "idempotency_mismatch" },
  });
  expect(await post("/items/update", { sku: "b", n: 1 }, "k2")).toMatchObject({ status: 404 });
  await post("/items", { sku: "b", n: 0 });
  expect(await post("/items/update", { sku: "b", n: 1 }, "k2")).toMatchObject({ status: 200, json: { n: 1 } });
});

test.each(["sku", "n"])("a delete by %s runs once and returns the same number again", async (by) => {
  const post = await serve();
  const values = { sku: "a", n: 1 };
  const asked = { [by]: values[by as "sku" | "n"] };
  await post("/items", values);
  expect((await post(`/items/by_${by}`, asked, "k1")).json).toEqual({ num_rows: 1 });
  await post("/items", values);
  const again = await post(`/items/by_${by}`, asked, "k1");
  expect(again).toMatchObject({ json: { num_rows: 1 }, headers: { "idempotency-replayed": "true" } });
  expect(await count("items")).toBe(1);
  const crowd = await Promise.all(Array.from({ length: 10 }, (_, n) => post(`/items/by_${by}`, asked, `c${n}`)));
  expect(crowd.reduce((sum, { json }) => sum + json.num_rows, 0)).toBe(1);
});

test("a retry gets the header with failed cells again", async () => {
  catalog.steps.fare = () => {
    throw new Error("no");
  };
  const post = await serve();
  const first = await post("/ignoring", { km: 4 }, "k1");
  expect(first.headers["x-cell-errors"]).toContain("fare;type=");
  const again = await post("/ignoring", { km: 4 }, "k1");
  expect(again.headers).toEqual({ ...first.headers, "idempotency-replayed": "true" });
});

test("concurrent requests of one key wait for the first and get the same response", async () => {
  const post = await serve();
  const answers = await Promise.all(Array.from({ length: 50 }, () => post("/docs", { title: "a" }, "k1")));
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers.filter(({ headers }) => "idempotency-replayed" in headers)).toHaveLength(49);
  expect(await count("docs")).toBe(1);
});

test("in a mix with and without keys, each request gets its own response", async () => {
  const post = await serve();
  const before = await Promise.all(Array.from({ length: 60 }, (_, n) => post("/items", { sku: `s${n}`, n }, `k${n}`)));
  await post("/items", { sku: "taken", n: 0 });
  const after = await Promise.all(
    Array.from({ length: 300 }, (_, n) => {
      if (n % 100 === 99) return post("/items", { sku: "taken", n }, `k${n}`);
      return post("/items", { sku: `s${n}`, n }, n % 3 === 2 && n >= 60 ? undefined : `k${n}`);
    }),
  );
  after.forEach(({ status, json, headers }, n) => {
    expect(status).toBe(n % 100 === 99 ? 409 : 200);
    if (status === 200) expect(json).toEqual({ sku: `s${n}`, n });
    expect("idempotency-replayed" in headers).toBe(n < 60);
  });
  expect(before.every(({ status }) => status === 200)).toBe(true);
  expect(await count("items")).toBe(298);
  expect(await count("appdb.requests")).toBe(after.filter((_, n) => n % 100 !== 99 && (n < 60 || n % 3 !== 2)).length);
});

test("two processes with the same concurrent requests store each row once", async () => {
  await using otherPool = createPgPool({ dsn: catalog.dsn, max: 6, application_name: "other process" });
  const processes = [await serve(), await serve(otherPool)];
  const answers = await Promise.all(
    Array.from({ length: 400 }, (_, n) => processes[n % 2]?.("/docs", { title: `t${n >> 1}` }, `k${n >> 1}`)),
  );
  expect(answers.every((answer) => answer?.status === 200)).toBe(true);
  for (let n = 0; n < 400; n += 2) expect(answers[n]?.text).toBe(answers[n + 1]?.text);
  expect(await count("docs")).toBe(200);
});

test("after an unknown commit outcome, a retry with the key stores one row", async () => {
  let isBroken = true;
  const breaking: SqlPool = {
    ...asPool(catalog.sql),
    query: async (statement) => {
      const result = await catalog.sql.query(statement);
      if (!isBroken || !statement.text.includes("insert into appdb.requests")) return result;
      isBroken = false;
      throw appError("commit_unknown", { detail: "The connection broke." });
    },
  };
  const post = await serve(breaking);
  // The row exists, so even the first request can be answered.
  const first = await post("/docs", { title: "a" }, "k1");
  expect(first).toMatchObject({ status: 200, json: { loud: "A" } });
  expect(isBroken).toBe(false);
  expect(await post("/docs", { title: "a" }, "k1")).toMatchObject({ status: 200, text: first.text });
  expect(await count("docs")).toBe(1);
});

test("a response is stored only together with its row", async () => {
  const post = await serve();
  await catalog.sql.query({
    text: "alter table appdb.requests add constraint refusing check (made::text not like '%BAD%')",
  });
  const answers = await Promise.all(["good", "bad", "fine"].map((key) => post("/docs", { title: key }, key)));
  expect(answers.map(({ status }) => status)).toEqual([200, 422, 200]);
  expect((await catalog.sql.query({ text: "select title from docs order by 1" })).rows).toEqual([["fine"], ["good"]]);
});

test("a response is kept for a day; then its key is free", async () => {
  const served = await catalog.serve(MANIFEST);
  const post = withKeys(served);
  const first = await post("/docs", { title: "a" }, "k1");
  await post("/docs", { title: "b" }, "k2");
  now += 86_400_000 - 1_000;
  expect((await post("/docs", { title: "a" }, "k1")).text).toBe(first.text);
  now += 2_000;
  const anew = await post("/docs", { title: "other" }, "k1");
  expect(anew).toMatchObject({ status: 200, json: { loud: "OTHER" } });
  expect(await count("appdb.requests")).toBe(2);
  expect(await served.endpoints.collect()).toBe(1);
  expect(await count("appdb.requests")).toBe(1);
  expect((await post("/docs", { title: "other" }, "k1")).text).toBe(anew.text);
});

/** The methods of a pool as a plain object, whose members a test can replace. */
function asPool(pool: SqlPool): SqlPool {
  return {
    query: (statement) => pool.query(statement),
    withConnection: (work) => pool.withConnection(work),
    transaction: (work) => pool.transaction(work),
    listen: (channel, onNotify, signal) => pool.listen(channel, onNotify, signal),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}
