import { appError } from "@appdb/contract/errors";
import type { Manifest, ManifestRowRoute, ManifestSqlExport } from "@appdb/contract/manifest";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { aColumn, aComputed, aManifest, aTable, call, col } from "@appdb/testkit/manifest-builder";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Endpoints } from "../endpoints/open-endpoints.ts";
import type { SqlPool } from "../ports.ts";
import type { ConnectExport } from "./sql-export.ts";

const source = { file: "app.py", line: 7 };
const READINGS = aTable("readings", [
  aColumn("sensor", "string", { primary_key: true }),
  aColumn("value", "float"),
  aColumn("at", "timestamp", { nullable: true }),
  aColumn("doc", "json", { nullable: true }),
  aComputed("loud", call("string.upper", "string", col("sensor", "string"))),
]);

let catalog: TestCatalog;
let log: ReturnType<typeof createSilentLog>;
let other: TestDatabase;
let target: SqlPool;
let opened: Endpoints[];

beforeEach(async () => {
  log = createSilentLog();
  catalog = await openTestCatalog({ log });
  other = await createTestDatabase();
  target = createPgPool({ dsn: other.dsn, max: 4, application_name: "export test" });
  opened = [];
});

afterEach(async () => {
  await catalog[Symbol.asyncDispose]();
  await target[Symbol.asyncDispose]();
  await other.drop();
});

interface Plan extends Partial<ManifestSqlExport> {
  readonly outputs?: string[];
}

function planned({ outputs = ["sensor", "value", "at", "doc", "loud"], ...parts }: Plan): Manifest {
  const exportSql: ManifestSqlExport = {
    db_connect: { env: "OTHER" },
    table: "copies",
    db_schema: null,
    method: "insert",
    ...parts,
  };
  const shared = {
    method: "post",
    table: "readings",
    outputs,
    on_error: "abort",
    handler: null,
    export_sql: exportSql,
    source,
  } as const;
  const insert: ManifestRowRoute = { ...shared, kind: "insert", path: "/in", inputs: ["sensor", "value", "at", "doc"] };
  const routes = [insert, { ...shared, kind: "update" as const, path: "/change", key: ["sensor"], inputs: ["value"] }];
  return aManifest({ tables: [READINGS], services: [{ name: "api", prefix: "", routes, source }] });
}

async function serve(plan: Plan = {}, connect = (_env: string): SqlPool => target) {
  const manifest = planned(plan);
  await catalog.apply(manifest);
  const connectExport: ConnectExport = (to) => connect("env" in to ? to.env : to.url);
  const { endpoints, post } = await catalog.serve(manifest, { deps: { connectExport } });
  opened.push(endpoints);
  return post;
}

const COPIES = `create table copies (sensor varchar(40) primary key, value numeric, at timestamptz, doc jsonb, loud text,
  seen timestamptz not null default now())`;
const ROW = { sensor: "s1", value: 1.5, at: "2024-02-29T23:30:00.000100Z", doc: { a: [1] } };

async function copies(text = "select sensor, value, at, doc, loud from copies order by sensor") {
  return (await target.query({ text })).rows;
}

test("a stored row is also written to the other database in its types", async () => {
  await target.query({ text: COPIES });
  const post = await serve();
  expect((await post("/in", ROW)).status).toBe(200);
  expect((await post("/in", { sensor: "s2", value: 2 })).status).toBe(200);
  expect(await copies()).toEqual([
    ["s1", "1.5", "2024-02-29 23:30:00.0001+00", '{"a": [1]}', "S1"],
    ["s2", "2", null, null, "S2"],
  ]);
});

test("a route that exports takes one row and refuses an array", async () => {
  await target.query({ text: COPIES });
  const post = await serve();
  const refused = await post("/in", [ROW]);
  expect(refused.status).toBe(422);
  expect(refused.json).toMatchObject({
    detail: "Expected the body to be a JSON object, got an array.",
    hint: expect.stringContaining("Send one row as an object"),
  });
  // Nor lines, which are refused before the route is called.
  expect(opened[0]?.routes.flatMap(({ streams = [] }) => streams)).toEqual([]);
  expect([await copies(), await catalog.rows("select sensor from readings")]).toEqual([[], []]);
});

test("a failed export reports that the row was stored", async () => {
  await target.query({ text: COPIES });
  const post = await serve();
  await target.query({ text: "insert into copies (sensor) values ('s1')" });
  const taken = await post("/in", ROW);
  expect(taken.status).toBe(502);
  expect(taken.json).toMatchObject({
    code: "export_failed",
    detail: expect.stringMatching(/^The row was stored, but insert into copies .* it already has a row with this key/),
    meta: { stored: true, table: "readings", key: { sensor: "s1" }, sqlstate: "23505" },
  });
  await target.query({ text: "drop table copies" });
  expect((await post("/in", { sensor: "s2", value: 2 })).json).toMatchObject({ code: "export_failed" });
  expect(await catalog.rows("select sensor from readings order by sensor")).toEqual([["s1"], ["s2"]]);
});

test("a retry after a failed export neither stores nor exports again", async () => {
  await target.query({ text: COPIES });
  await target.query({ text: "insert into copies (sensor) values ('s1')" });
  const post = await serve();
  const headers = { "idempotency-key": "k1" };
  expect((await post("/in", ROW, { headers })).status).toBe(502);
  await target.query({ text: "truncate copies" });
  expect((await post("/in", ROW, { headers })).status).toBe(200);
  expect(await copies()).toEqual([]);
});

test("update changes the row of the target's key, and says when there is none", async () => {
  await target.query({ text: COPIES });
  await target.query({ text: "insert into copies (sensor, value) values ('s1', 0)" });
  const post = await serve({ method: "update", outputs: ["sensor", "value", "loud"] });
  expect((await post("/in", ROW)).status).toBe(200);
  expect((await post("/change", { sensor: "s1", value: 9 })).status).toBe(200);
  expect(await copies("select sensor, value, loud from copies")).toEqual([["s1", "9", "S1"]]);
  const missing = await post("/in", { sensor: "s2", value: 2 });
  expect([missing.status, missing.json.detail]).toEqual([502, expect.stringContaining("no row with this key")]);
});

test("merge writes a row once, whether it exists or not", async () => {
  await target.query({ text: COPIES });
  const post = await serve({ method: "merge" });
  expect((await post("/in", ROW)).status).toBe(200);
  expect((await post("/change", { sensor: "s1", value: 7 })).status).toBe(200);
  await target.query({ text: "delete from copies" });
  expect((await post("/change", { sensor: "s1", value: 8 })).status).toBe(200);
  expect(await copies("select sensor, value from copies")).toEqual([["s1", "8"]]);
});

test("finds a table of a schema", async () => {
  await target.query({ text: 'create schema "lake house"' });
  await target.query({ text: 'create table "lake house"."Odd ""name" (sensor text, value float8)' });
  const post = await serve({ db_schema: "lake house", table: 'Odd "name', outputs: ["sensor", "value"] });
  expect((await post("/in", ROW)).status).toBe(200);
  expect(await copies('select * from "lake house"."Odd ""name"')).toEqual([["s1", "1.5"]]);
});

test.each<[string, string, Plan, RegExp]>([
  ["the table is missing", "select 1", {}, /no table copies/],
  ["a column is missing", "create table copies (sensor text)", {}, /has no column value/],
  [
    "a type does not match",
    "create table copies (sensor text, value date)",
    { outputs: ["sensor", "value"] },
    /value is date/,
  ],
  [
    "a column is not given",
    "create table copies (sensor text, n int not null)",
    { outputs: ["sensor"] },
    /copies\.n is required/,
  ],
  [
    "there is no primary key",
    "create table copies (sensor text)",
    { outputs: ["sensor"], method: "merge" },
    /no primary key/,
  ],
  [
    "the key is not an output",
    "create table copies (id int primary key, sensor text)",
    { outputs: ["sensor"], method: "update" },
    /the primary key of copies contains id/,
  ],
])("a service does not start when %s", async (_why, ddl, plan, words) => {
  await target.query({ text: ddl });
  await expect(serve(plan)).rejects.toMatchObject({ code: "export_refused", message: expect.stringMatching(words) });
  await expect(serve(plan)).rejects.toThrow(/^app\.py:7: the export of \/in: /);
});

test("responses and logs never contain the other database's messages", async () => {
  await target.query({ text: COPIES });
  const secret = "hunter2";
  let isGone = false;
  const post = await serve({ db_connect: { url: `postgresql://u:${secret}@other/db` } }, () => {
    if (!isGone) return target;
    throw appError("database_unavailable", { detail: "away", cause: new Error(`connect u:${secret}@other`) });
  });
  isGone = true;
  const away = await post("/in", ROW);
  expect(away).toMatchObject({ status: 502, json: { detail: expect.stringContaining("it does not answer") } });
  isGone = false;
  await target.query({ text: `alter table copies add check (sensor <> '${secret}')` });
  const refused = await post("/in", { sensor: secret, value: 1 });
  expect(refused.json).toMatchObject({ code: "export_failed", meta: { sqlstate: "23514" } });
  const described = opened.map((endpoints) => endpoints.openapi("api"));
  const causes = log.lines.map(({ fields }) => String((fields as { err?: unknown }).err));
  const { key: _, ...meta } = refused.json.meta;
  expect(JSON.stringify([away, { ...refused.json, meta }, described, log.lines, causes])).not.toContain(secret);
});
