import { setTimeout as sleep } from "node:timers/promises";
import type { Query } from "@appdb/contract/query";
import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { eventually } from "@appdb/testkit/eventually";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadCatalog } from "../catalog/load-catalog.ts";
import type { UdfRunner } from "../ports.ts";
import { QUERY_APP, QUERY_ROWS } from "../queries/testing/query-app.ts";
import { ARROW_ROWS } from "./arrow-rows.ts";
import { MSGPACK_ROWS } from "./msgpack-rows.ts";
import { type QueriedApplication, readResult, runMessages } from "./testing/read-result.ts";
import { unpack } from "./testing/unpack.ts";

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

test("a column of another type, a missing one and a missing table are refused by name", async () => {
  const query = queryNamed("inner");
  const [sku, rank] = query.select;
  if (sku?.expr.node !== "column" || rank === undefined) throw new Error("The query selects other values.");
  const selecting = (expr: Partial<typeof sku.expr>): Query => ({
    ...query,
    select: [{ name: "sku", expr: { ...(sku.expr as typeof sku.expr), ...expr } }],
  });
  await expect(readResult(queried, selecting({ type: { kind: "int" } }))).rejects.toMatchObject({
    code: "schema_changed",
    message: "Column items.sku is String, and the query reads it as Int.",
    meta: { table: "items", column: "sku" },
  });
  await expect(readResult(queried, selecting({ name: "skn" }))).rejects.toMatchObject({
    code: "column_not_found",
    hint: "Did you mean sku?",
    meta: { table: "items", column: "skn" },
  });
  await expect(readResult(queried, selecting({ name: "_row" }))).rejects.toMatchObject({ code: "column_not_found" });
  const from = { table: "reports/items", as: "items" };
  await expect(readResult(queried, { ...query, from })).rejects.toMatchObject({
    code: "table_not_found",
    meta: { table: "reports/items" },
  });
});

test("what only the server writes into a query, and parameters, are refused", async () => {
  const query = queryNamed("inner");
  const yes = { node: "literal", value: true, type: { kind: "bool" }, nullable: false } as const;
  const parameter = { node: "parameter", name: "x", type: { kind: "bool" }, nullable: false } as const;
  const wrong: Query[] = [
    { ...query, from: { ...query.from, member: yes } },
    { ...query, where: parameter },
    { ...query, from: { table: "items", as: 'items" as x; --' } },
    { ...query, limit: { ...yes, value: -1, type: { kind: "int" } } },
    { ...query, joins: query.joins.map((join) => ({ ...join, as: query.from.as })) },
  ];
  for (const one of wrong) await expect(readResult(queried, one)).rejects.toMatchObject({ code: "invalid_request" });
});

test("a literal that is not of its type is refused by name", async () => {
  const query = queryNamed("inner");
  const selecting = (kind: "timestamp" | "date" | "uuid", value: string): Query => ({
    ...query,
    select: [{ name: "a", expr: { node: "literal", value, type: { kind }, nullable: false } }],
  });
  const wrong = [selecting("timestamp", "infinity"), selecting("timestamp", "now"), selecting("date", "tomorrow")];
  for (const one of [...wrong, selecting("uuid", "1")]) {
    const refused = {
      code: "invalid_request",
      message: expect.stringMatching(/^A literal of the query is not of its type/),
    };
    await expect(readResult(queried, one)).rejects.toMatchObject(refused);
  }
  const { rows } = await readResult(queried, selecting("timestamp", "2024-01-02T03:04:05+00:00"));
  expect(rows[0]).toEqual(["2024-01-02T03:04:05Z"]);
});

test("a query that the client leaves is cancelled, and one that works too long names its limit", async () => {
  const numbers: Query = { ...queryNamed("every"), select: queryNamed("every").select.slice(0, 1) };
  const join = { kind: "cross" as const, table: "items", on: null };
  const joins = Array.from({ length: 12 }, (_, at) => ({ ...join, as: `i${at}` }));
  const slow: Query = { ...numbers, joins };
  await expect(readResult(queried, slow, { timeout_ms: 200 })).rejects.toMatchObject({
    code: "query_timeout",
    meta: { limit: "timeout_ms", value: 200 },
  });
  const limits = { ...DEFAULT_LIMITS, statement_timeout_ms: 150 };
  const sorted: Query = { ...slow, distinct: true };
  await expect(readResult(queried, sorted, { limits })).rejects.toMatchObject({
    code: "query_timeout",
    meta: { limit: "statement_timeout_ms", value: 150 },
  });
  const leaving = new AbortController();
  setTimeout(() => leaving.abort(), 200);
  await expect(readResult(queried, slow, { signal: leaving.signal })).rejects.toMatchObject({ code: "interrupted" });
  const send = async () => {
    throw new Error("left");
  };
  await expect(readResult(queried, { ...slow, joins: joins.slice(0, 6) }, { send })).rejects.toThrow("left");
  const { rows } = await app.sql.query({
    text: "select count(*) from pg_stat_activity where state = 'active' and query like '%cross join%' and pid <> pg_backend_pid()",
  });
  expect(rows).toEqual([["0"]]);
});

test("a client that takes no rows stops the statement, and later gets all of them", async () => {
  const every = queryNamed("every");
  const join = { kind: "cross" as const, table: "items", on: null };
  const query: Query = {
    ...every,
    select: every.select.slice(0, 1),
    joins: Array.from({ length: 6 }, (_, at) => ({ ...join, as: `i${at}` })),
  };
  let messages = 0;
  let rows = 0;
  const send = async (message: Uint8Array) => {
    messages += 1;
    if (messages === 3) await sleep(3_300);
    rows += (JSON.parse(Buffer.from(message).toString()).rows ?? []).length;
  };
  await runMessages(queried, query, { send, limits: { ...DEFAULT_LIMITS, statement_timeout_ms: 3_000 } });
  expect(rows).toBe(6 ** 7);
  expect(messages).toBeGreaterThan(4);
});

test("a read whose client is slow ends when a change of its table waits for it", async () => {
  const every = queryNamed("every");
  const join = { kind: "cross" as const, table: "items", on: null };
  const query: Query = {
    ...every,
    select: every.select.slice(0, 1),
    joins: Array.from({ length: 7 }, (_, at) => ({ ...join, as: `i${at}` })),
  };
  const leaving = new AbortController();
  let messages = 0;
  const send = async () => {
    messages += 1;
    if (messages === 3) await sleep(60_000, undefined, { signal: leaving.signal });
  };
  const reading = runMessages(queried, query, { send });
  reading.catch(() => undefined);
  await eventually(() => expect(messages).toBe(3));
  await eventually(async () => {
    await app.sql.transaction(async (connection) => {
      await connection.query({ text: "set local lock_timeout = 150" });
      await connection.query({ text: "lock table items in access exclusive mode" });
    });
  });
  await expect(reading).rejects.toMatchObject({ code: "schema_changed", message: /too slowly/ });
  leaving.abort();
});

test("msgpack and Arrow have the values of NDJSON", async () => {
  const query = queryNamed("every");
  const { columns, rows } = await readResult(queried, query);
  const packed = (await runMessages(queried, query, { format: MSGPACK_ROWS })).map((message) => unpack(message));
  expect(packed[0]).toEqual({ columns });
  const doc = columns.findIndex(({ name }) => name === "doc");
  const asTexts = rows.map((row) =>
    row.map((value, at) => (at === doc && value !== null ? JSON.stringify(value) : value)),
  );
  const unspaced = packed
    .flatMap(({ rows: some = [] }) => some)
    .map((row: unknown[]) =>
      row.map((value, at) => (at === doc && typeof value === "string" ? JSON.stringify(JSON.parse(value)) : value)),
    );
  expect(unspaced).toEqual(asTexts);
  const arrow = (await runMessages(queried, query, { format: ARROW_ROWS })).map((message) => unpack(message));
  const stream = Buffer.concat(arrow.flatMap(({ arrow: bytes }) => (bytes === undefined ? [] : [bytes])));
  expect(stream.subarray(0, 4)).toEqual(Buffer.from([255, 255, 255, 255]));
  expect(stream.subarray(-8)).toEqual(Buffer.from([255, 255, 255, 255, 0, 0, 0, 0]));
  expect(arrow.at(-1)).toEqual({ done: { count: rows.length, has_more: false } });
});

test("times that other programs wrote beyond their types are texts of PostgreSQL, and refused by name in Arrow", async () => {
  const every = queryNamed("every");
  const column = (name: "at" | "day", kind: "timestamp" | "date"): Query["select"][number] => ({
    name,
    expr: { node: "column", of: every.from.as, name, type: { kind }, nullable: true },
  });
  const written = [
    ["infinity", "-infinity", "infinity"],
    ["-infinity", "infinity", "-infinity"],
    ["0044-03-15 00:00:00+00 BC", "4000-01-01 BC", "a value of another year"],
  ] as const;
  for (const [at, day, shown] of written) {
    await app.sql.query({
      text: "insert into items (_row, sku, at, day) values (uuidv7(), 'outside', $1, $2)",
      values: [at, day],
    });
    try {
      const times: Query = { ...every, select: [column("at", "timestamp")] };
      const days: Query = { ...every, select: [column("day", "date")] };
      expect((await readResult(queried, times)).rows).toContainEqual([at]);
      expect((await readResult(queried, days)).rows).toContainEqual([day]);
      await expect(runMessages(queried, times, { format: ARROW_ROWS })).rejects.toMatchObject({
        code: "value_outside_type",
        message: `The column at has ${shown}, which is not a Timestamp: years are 1 to 9999.`,
        hint: expect.stringContaining("--set at="),
      });
      await expect(runMessages(queried, days, { format: ARROW_ROWS })).rejects.toMatchObject({
        code: "value_outside_type",
        message: expect.stringMatching(/^The column day has .* not a Date/),
      });
    } finally {
      await app.sql.query({ text: "delete from items where sku = 'outside'" });
    }
  }
});

test("functions of the application run in workers, and those that a request lacks are refused by name", async () => {
  const query = queryNamed("groups_python");
  const { rows } = await readResult(queried, query);
  expect(rows).toEqual((await readResult(queried, queryNamed("groups"))).rows);
  const code = async (_bound: unknown, called: readonly string[]) => {
    throw new Error(`lacks ${called.join(", ")}`);
  };
  await expect(readResult(queried, query, { code })).rejects.toThrow("lacks app:same, app:same_int");
  const few = { ...DEFAULT_LIMITS, rows_in_flight: 3 };
  await expect(readResult(queried, query, { limits: few })).rejects.toMatchObject({
    code: "result_too_large",
    meta: { limit: "rows_in_flight" },
  });
});

test("a table that changes between its catalog and the statement is read by its new definition", async () => {
  let loads = 0;
  const loadOld = async () => {
    const catalog = await loadCatalog(app.sql);
    loads += 1;
    if (loads > 1) return catalog;
    const tables = catalog.tables.map((table) => ({ ...table, version: table.version - 1 }));
    return { ...catalog, version: catalog.version - 1, tables };
  };
  const { rows } = await readResult(queried, queryNamed("every"), { loadCatalog: loadOld });
  expect(rows).toHaveLength(QUERY_ROWS.length);
  expect(loads).toBe(2);
});
