import type { Expr } from "@appdb/contract/expressions";
import type { ManifestColumn, ManifestTable } from "@appdb/contract/manifest";
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
import { openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { checkManifest } from "../endpoints/check-manifest.ts";
import { planRecompute } from "../jobs/plan-recompute.ts";
import { planSchema } from "../schema/plan-schema.ts";

const START = Date.parse("2026-03-04T05:06:07.089Z");
const NOW = call("timestamp.now", "timestamp");

let tested: TestCatalog;
let time = START;

beforeEach(async () => {
  time = START;
  tested = await openTestCatalog({ clock: { now: () => time } });
});

afterEach(async () => {
  await tested[Symbol.asyncDispose]();
});

function withDefault(expr: Expr, text: string): Partial<ManifestColumn> {
  return { default: { text, expr } };
}

const TITLE = aColumn("title", "string");
const STATE = aColumn("state", "string", withDefault(lit("new", "string"), "'new'"));
const DUE = aColumn("due", "timestamp", withDefault(NOW, "now()"));
const CREATED = aComputed("created", NOW);
const LOUD = aComputed("loud", call("string.upper", "string", col("state", "string")));

function tickets(...columns: ManifestColumn[]): ManifestTable {
  return aTable("tickets", [aUuid7Key(), TITLE, ...columns]);
}

function declare(table: ManifestTable, inputs: readonly string[] = ["title"]) {
  const outputs = table.columns.map(({ name }) => name).filter((name) => name !== "id");
  const source = { file: "app.py", line: 1 };
  const services = [{ name: "api", prefix: "", routes: [aRowRoute("tickets", inputs, outputs)], source }];
  return aManifest({ tables: [table], services });
}

test("omitted fields get their defaults, and expressions read them", async () => {
  const manifest = declare(tickets(STATE, DUE, CREATED, LOUD), ["title", "state", "due"]);
  await tested.apply(manifest);
  const { post } = await tested.serve(manifest);
  const at = "2026-03-04T05:06:07.089000Z";
  expect((await post("/tickets", { title: "a" })).json).toEqual({
    title: "a",
    state: "new",
    due: at,
    created: at,
    loud: "NEW",
  });
  const given = { title: "b", state: "open", due: "2020-01-01T00:00:00Z" };
  expect((await post("/tickets", given)).json).toEqual({ ...given, created: at, loud: "OPEN" });
  expect((await post("/tickets", { title: "c", state: null })).status).toBe(422);
  const many = await post("/tickets", [{ title: "d" }, { title: "e", state: "open" }]);
  expect(many.json.map((row: { state: string }) => row.state)).toEqual(["new", "open"]);
  expect(await tested.rows("select title, state from tickets order by title")).toEqual([
    ["a", "new"],
    ["b", "open"],
    ["d", "new"],
    ["e", "open"],
  ]);
});

test("a required column with a default is added to existing rows", async () => {
  const before = declare(tickets());
  await tested.apply(before);
  const old = await tested.serve(before);
  await old.post("/tickets", { title: "a" });
  const after = declare(tickets(STATE, DUE));
  const { plan } = planSchema({ manifest: after, catalog: await loadCatalog(tested.sql), target: "main" });
  expect(plan.tables[0]?.ops.map(({ severity, description }) => [severity, description])).toEqual([
    ["additive", "column 'state' will be added with the default 'new', which every row gets"],
    ["additive", "column 'due' will be added with the default now(), which every row gets"],
  ]);
  await tested.apply(after);
  // The service started earlier continues, and PostgreSQL gives its rows the default.
  expect((await old.post("/tickets", { title: "b" })).status).toBe(200);
  expect(await tested.rows("select state, due > now() - interval '1 hour' from tickets")).toEqual([
    ["new", "t"],
    ["new", "t"],
  ]);
  await expect(tested.apply(after)).resolves.toMatchObject({ plan: { in_agreement: true } });
});

test("a changed default is an additive change that leaves rows alone", async () => {
  await tested.apply(declare(tickets(STATE)));
  const first = await tested.serve(declare(tickets(STATE)));
  await first.post("/tickets", { title: "a" });
  const changed = declare(tickets({ ...STATE, ...withDefault(lit("open", "string"), "'open'") }));
  const { plan } = planSchema({ manifest: changed, catalog: await loadCatalog(tested.sql), target: "main" });
  expect(plan.tables[0]?.ops[0]).toMatchObject({
    severity: "additive",
    description: "column 'state': its default will change from 'new' to 'open'; stored values stay",
  });
  await tested.apply(changed);
  await (await tested.serve(changed)).post("/tickets", { title: "b" });
  const none = declare(tickets({ ...STATE, nullable: true, default: null }));
  await tested.apply(none);
  await (await tested.serve(none)).post("/tickets", { title: "c" });
  expect(await tested.rows("select title, state from tickets order by title")).toEqual([
    ["a", "new"],
    ["b", "open"],
    ["c", null],
  ]);
});

test("a default follows its column to another type", async () => {
  const n = aColumn("n", "int", withDefault(lit("1", "int"), "1"));
  await tested.apply(declare(tickets(n)));
  await (await tested.serve(declare(tickets(n)))).post("/tickets", { title: "a" });
  const text = declare(tickets(aColumn("n", "float", withDefault(lit(2.5, "float"), "2.5"))));
  await tested.apply(text);
  await (await tested.serve(text)).post("/tickets", { title: "b" });
  expect(await tested.rows("select title, n from tickets order by title")).toEqual([
    ["a", "1"],
    ["b", "2.5"],
  ]);
});

test("a timestamp of insertion is never recomputed", async () => {
  const manifest = declare(tickets(CREATED));
  await tested.apply(manifest);
  const request = { folder: "public", table: "tickets", cascade: true, on_error: "abort", errors_only: false } as const;
  const catalog = await loadCatalog(tested.sql);
  expect(planRecompute(catalog, { ...request, columns: [] }).columns).toEqual([]);
  expect(() => planRecompute(catalog, { ...request, columns: ["created"] })).toThrow("is made with its row");
});

test("the OpenAPI document shows the defaults of fields", async () => {
  const manifest = declare(tickets(STATE, DUE), ["title", "state", "due"]);
  await tested.apply(manifest);
  const { endpoints } = await tested.serve(manifest);
  const document = JSON.stringify(endpoints.openapi("api"));
  expect(document).toContain('"default":"new"');
  expect(document).toContain('"required":["title"]');
});

test("a default that violates its column's schema is reported with its line", async () => {
  const schema = { type: "object", required: ["a"] };
  const doc = aColumn("doc", "json", { ...withDefault(lit("{}", "json"), "{}"), type: { kind: "json", schema } });
  await expect(checkManifest(declare(tickets(doc)))).rejects.toMatchObject({
    code: "app_invalid",
    message: expect.stringContaining("app.py:1: The default of column tickets.doc does not match its schema"),
  });
});
