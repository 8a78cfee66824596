import type { ManifestTable } from "@appdb/contract/manifest";
import { tableChangeSchema } from "@appdb/contract/routes/table-changes";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { useJobsBench } from "@appdb/testkit/jobs-bench";
import { aColumn, aComputed, aTable, call, col } from "@appdb/testkit/manifest-builder";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SqlPool } from "../ports.ts";
import { type ChangeRequest, changeTable } from "./change-table.ts";

const bench = useJobsBench();
const { catalog, finish, rows } = bench;

let sql: SqlPool;

beforeEach(() => {
  sql = createPgPool({ dsn: bench.dsn(), max: 4, application_name: "models" });
});

afterEach(async () => {
  await sql[Symbol.asyncDispose]();
});

const TITLE = col("title", "string");
const ID = aColumn("id", "int");
const DOCS = aTable("docs", [ID, aColumn("title", "string")], { primary_key: ["id"] });
const LOUD = aComputed("loud", call("string.upper", "string", TITLE));
const over = (base: string, name: string, columns: ManifestTable["columns"] = []): ManifestTable =>
  aTable(name, columns, { view: { base, filter: null, columns: null } });

function update(definitions: readonly ManifestTable[], parts: object = {}, isDry = false) {
  const change = tableChangeSchema.parse({ change: "update_tables", folder: "", definitions, ...parts });
  const code = { functions: [], resource_pools: [], runtime_id: null };
  const request: ChangeRequest = { change, database: "main", ...code, on_error: "abort", dry_run: isDry };
  return changeTable({ sql, clock: { now: Date.now }, log: createSilentLog() }, request);
}
const names = async () => (await catalog()).tables.map(({ folder, name }) => `${folder}/${name}`);

test("models are planned, created in a folder, and changed with the rows that they have", async () => {
  const models = [DOCS, over("docs", "many", [LOUD])];
  const planned = await update(models, { folder: "reports" }, true);
  expect(planned.plan.tables).toMatchObject([
    { path: "main/reports/docs", resolution: "create" },
    { path: "main/reports/many", resolution: "create" },
  ]);
  expect(await names()).toEqual([]);
  await update(models, { folder: "reports" });
  await bench.execute({ text: "insert into reports.docs (_row, id, title) values (gen_random_uuid(), 1, 'a')" });
  const more = { ...DOCS, columns: [...DOCS.columns, LOUD] };
  const { jobs, plan } = await update([more, ...models.slice(1)], { folder: "reports" });
  expect(plan.tables).toMatchObject([{ path: "main/reports/docs", ops: [{ op: "add", name: "loud" }] }]);
  await finish(jobs);
  expect(await rows("select id, loud from reports.docs")).toEqual([["1", "A"]]);
  expect((await update([more, ...models.slice(1)], { folder: "reports" })).plan.tables).toEqual([]);
});

test("other tables of the folder stay, and a view may be over one of them", async () => {
  await update([DOCS, over("docs", "many")]);
  await update([aTable("other", [ID], { primary_key: ["id"] })]);
  expect(await names()).toEqual(["public/docs", "public/other"]);
  await update([over("many", "few", [LOUD])]);
  expect((await catalog()).views.map(({ name }) => name)).toEqual(["many", "few"]);
});

test("renamed_from= keeps the values of a column, next to a new one", async () => {
  await update([DOCS]);
  await bench.execute({ text: "insert into docs (_row, id, title) values (gen_random_uuid(), 1, 'a')" });
  const title = { ...aColumn("name", "string"), renamed_from: "title" };
  const more = [ID, title, aColumn("n", "int", { nullable: true })];
  const renamed = aTable("docs", more, { primary_key: ["id"] });
  expect((await update([renamed])).plan.tables[0]?.ops).toMatchObject([{ op: "alter", name: "name" }, { op: "add" }]);
  expect(await rows("select id, name from docs")).toEqual([["1", "a"]]);
  expect((await update([renamed])).plan.tables).toEqual([]);
});

test("a change that loses values needs permission, and another that is refused changes nothing", async () => {
  await update([{ ...DOCS, columns: [...DOCS.columns, aColumn("n", "int", { nullable: true })] }]);
  await bench.execute({ text: "insert into docs (_row, id, title, n) values (gen_random_uuid(), 1, 'a', 7)" });
  const made = [aTable("other", [ID], { primary_key: ["id"] }), DOCS];
  await expect(update(made)).rejects.toMatchObject({
    code: "destructive_refused",
    hint: "Allow it: allow_destructive=True",
  });
  expect(await names()).toEqual(["public/docs"]);
  await update(made, { allow_destructive: true });
  expect(await names()).toEqual(["public/docs", "public/other"]);
  expect(await rows("select * from docs")).toEqual([[expect.anything(), "1", "a", null]]);
});

test.each<[string, string, ManifestTable[]]>([
  ["table_not_found", "main/nowhere", [over("nowhere", "v")]],
  ["table_not_found", "main/v", [over("v", "v")]],
  ["table_not_found", "base of the view", [over("b", "a"), over("c", "b"), over("a", "c")]],
  ["column_not_found", "main/docs has no column 'title'", [{ ...DOCS, columns: [ID, LOUD] }]],
  ["column_not_found", "main/b has no column 'title'", [aTable("a", [ID]), over("a", "b", [LOUD])]],
  ["invalid_request", "Two models declare the table main/docs", [DOCS, DOCS]],
])("%s: %s", async (code, detail, definitions) => {
  await expect(update(definitions)).rejects.toMatchObject({ code, message: expect.stringContaining(detail) });
  expect(await names()).toEqual([]);
});

test("views of too many columns, and too many views over views, are refused before they are compared", async () => {
  const wide = aTable("docs", [
    ...DOCS.columns,
    ...Array.from({ length: 998 }, (_none, at) => aColumn(`c${at}`, "int", { nullable: true })),
  ]);
  const chain = (length: number) =>
    Array.from({ length }, (_none, at) => over(at === 0 ? "docs" : `v${at - 1}`, `v${at}`));
  await expect(update([wide, ...chain(501)], {}, true)).rejects.toMatchObject({
    code: "app_invalid",
    meta: { table: "docs", views: 501, columns: 1_000, value: 501_000 },
    hint: expect.stringContaining("Declare fewer views"),
  });
  await expect(update([DOCS, ...chain(33)], {}, true)).rejects.toMatchObject({
    code: "app_invalid",
    message: expect.stringContaining("is below more than 32 other views"),
  });
  expect((await update([DOCS, ...chain(32)], {}, true)).plan.tables).toHaveLength(33);
});
