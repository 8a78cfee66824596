import { manifestSchema } from "@appdb/contract/manifest";
import { parseTablePath } from "@appdb/contract/names";
import { type TableChange, tableChangeSchema } from "@appdb/contract/routes/table-changes";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { useJobsBench } from "@appdb/testkit/jobs-bench";
import {
  aColumn,
  aComputed,
  aFunction,
  aManifest,
  anIndex,
  aTable,
  aUuid7Key,
  call,
  col,
  lit,
  udf,
} from "@appdb/testkit/manifest-builder";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listFolders } from "../catalog/folders.ts";
import { readSources } from "../data-queries/read-sources.ts";
import type { SqlPool } from "../ports.ts";
import { listHistory } from "../schema/changes.ts";
import { planSchema } from "../schema/plan-schema.ts";
import { type ChangeRequest, changeTable } from "./change-table.ts";
import { declarationOf, requireStored } from "./read-declaration.ts";

const bench = useJobsBench();
const { apply, catalog, finish, rows } = bench;

let sql: SqlPool;

beforeEach(() => {
  sql = createPgPool({ dsn: bench.dsn(), max: 4, application_name: "changes" });
});

afterEach(async () => {
  await sql[Symbol.asyncDispose]();
});

const log = createSilentLog();

function change(asked: unknown, parts: Partial<ChangeRequest> = {}) {
  const request: ChangeRequest = {
    change: tableChangeSchema.parse(asked) as TableChange,
    database: "main",
    functions: [],
    resource_pools: [],
    runtime_id: null,
    on_error: "abort",
    dry_run: false,
    ...parts,
  };
  return changeTable({ sql, clock: { now: Date.now }, log }, request);
}

const DOCS = aTable(
  "docs",
  [
    aUuid7Key(),
    aColumn("title", "string"),
    aColumn("n", "int", { nullable: true }),
    aComputed("loud", call("string.upper", "string", col("title", "string"))),
  ],
  { indexes: [anIndex(["title"], "by_title")] },
);

/** Rows of docs with a number, and their titles in capitals. */
const MANY = aTable("many", [aComputed("shout", call("string.upper", "string", col("title", "string")))], {
  view: {
    base: "docs",
    filter: { text: "n > 1", expr: call("op.gt", "bool", col("n", "int", true), lit("1", "int")) },
    columns: null,
  },
});

const applied = () => apply(aManifest({ tables: [DOCS, MANY] }));
const insert = (n: number) =>
  bench.execute({
    text: `insert into docs (id, title, n, loud) select uuidv7(), 't' || i, i, 'T' || i from generate_series(1, ${n}) i`,
  });
const definition = async (path: string) =>
  declarationOf(await catalog(), requireStored(await catalog(), parseTablePath(path)));

test("the definition of each table and view declares what the catalog has", async () => {
  await applied();
  const tables = [await definition("main/docs"), await definition("main/many")];
  const parsed = manifestSchema.parse(aManifest({ tables }));
  expect(planSchema({ manifest: parsed, catalog: await catalog(), target: "main" }).plan.in_agreement).toBe(true);
  expect(tables[1]).toMatchObject({
    columns: [{ name: "shout", computed: { expr: { fn: "string.upper", args: [{ name: "title" }] } } }],
    view: { base: "docs", filter: { text: "n > 1", expr: { fn: "op.gt" } }, columns: null },
  });
});

test("a table is created, also in a folder, and its name is taken", async () => {
  const table = aTable("other", [aUuid7Key(), aColumn("a", "int")]);
  const { plan } = await change({ change: "create_table", table: "reports/docs", definition: table });
  expect(plan).toMatchObject({ target: "main/reports", status: "applied", tables: [{ path: "main/reports/docs" }] });
  expect(await listFolders(sql)).toEqual(["reports"]);
  const again = { change: "create_table", table: "reports/docs", definition: table };
  await expect(change(again)).rejects.toMatchObject({ code: "table_exists" });
  expect((await change({ ...again, if_exists: "ignore" })).plan.tables).toEqual([]);
  const other = aTable("docs", [aColumn("b", "string")]);
  await change({ ...again, definition: other, if_exists: "replace" });
  expect((await catalog()).tables[0]?.columns.map(({ name }) => name)).toEqual(["b"]);
});

test("a view is created over a table, and computes its columns for existing rows", async () => {
  await apply(aManifest({ tables: [DOCS] }));
  await insert(3);
  const { jobs } = await change({ change: "create_table", table: "many", definition: MANY });
  await finish(jobs);
  expect(await rows(`select "many.shout" from docs order by n`)).toEqual([[null], ["T2"], ["T3"]]);
});

test("columns are added: stored, with a default, and computed; views show them", async () => {
  await applied();
  await insert(2);
  const twice = aComputed("twice", call("op.mul", "int", col("n", "int", true), lit("2", "int")));
  const note = aColumn("note", "string", { nullable: true });
  const { jobs, plan } = await change({ change: "add_columns", table: "docs", columns: [note, twice] });
  expect(plan.tables).toMatchObject([{ path: "main/docs", ops: [{ name: "note" }, { name: "twice" }] }]);
  await finish(jobs);
  expect(await rows("select twice, note from docs order by n")).toEqual([
    ["2", null],
    ["4", null],
  ]);
  expect((await catalog()).views[0]?.definition.columns.map(({ name }) => name)).toContain("twice");
  const again = { change: "add_columns", table: "docs", columns: [note] };
  await expect(change(again)).rejects.toMatchObject({ code: "column_exists" });
  expect((await change({ ...again, if_exists: "ignore" })).plan.tables).toEqual([]);
  const required = { change: "add_columns", table: "docs", columns: [aColumn("must", "int")] };
  await expect(change(required)).rejects.toMatchObject({ code: "schema_unsupported" });
  const wrong = aComputed("wrong", call("string.upper", "string", col("missing", "string")));
  await expect(change({ change: "add_columns", table: "docs", columns: [wrong] })).rejects.toMatchObject({
    code: "column_not_found",
  });
});

test("a column of a view is added to the view only", async () => {
  await applied();
  await insert(2);
  const more = aComputed("more", call("string.upper", "string", col("title", "string")));
  const { jobs } = await change({ change: "add_columns", table: "many", columns: [more] });
  await finish(jobs);
  expect(await rows(`select "many.more" from docs order by n`)).toEqual([[null], ["T2"]]);
});

test("a column that something reads is not dropped, and each reader is named", async () => {
  await applied();
  await expect(change({ change: "drop_columns", table: "docs", columns: ["title"] })).rejects.toMatchObject({
    code: "has_dependents",
    message: expect.stringContaining("column 'loud', index 'by_title', column 'shout' of the view 'many'"),
  });
  await expect(change({ change: "drop_columns", table: "docs", columns: ["n"] })).rejects.toMatchObject({
    message: expect.stringContaining("the condition of the view 'many'"),
  });
  const missing = { change: "drop_columns", table: "docs", columns: ["x"] };
  await expect(change(missing)).rejects.toMatchObject({ code: "column_not_found" });
  expect((await change({ ...missing, if_not_exists: "ignore" })).plan.tables).toEqual([]);
  const dry = await change({ change: "drop_columns", table: "docs", columns: ["loud"] }, { dry_run: true });
  expect(dry.plan.tables[0]).toMatchObject({ resolution: "update_destructive" });
  expect((await catalog()).tables[0]?.columns).toHaveLength(5);
  await change({ change: "drop_columns", table: "docs", columns: ["loud"] });
  expect((await catalog()).tables[0]?.columns.map(({ name }) => name)).not.toContain("loud");
});

test("a renamed column keeps its values, and its readers follow", async () => {
  await applied();
  await insert(2);
  const { jobs } = await change({ change: "rename_column", table: "docs", column: "title", to: "headline" });
  expect(jobs).toEqual([]);
  expect(await rows("select headline, loud from docs order by n")).toEqual([
    ["t1", "T1"],
    ["t2", "T2"],
  ]);
  const many = await definition("main/many");
  expect(many.columns[0]?.computed?.expr).toMatchObject({ args: [{ name: "headline" }] });
  expect((await definition("main/docs")).indexes).toMatchObject([{ name: "by_title", columns: ["headline"] }]);
  await change({ change: "rename_column", table: "many", column: "shout", to: "cry" });
  expect(await rows(`select "many.cry" is null from docs`)).toHaveLength(2);
  await change({ change: "rename_column", table: "docs", column: "n", to: "number" });
  expect((await definition("main/many")).view?.filter).toMatchObject({ text: "number > 1" });
  await expect(change({ change: "rename_column", table: "docs", column: "loud", to: "number" })).rejects.toMatchObject({
    code: "column_exists",
  });
});

test("views of iterators, and views over them, follow the columns of their base", async () => {
  const split = {
    fn: "string.string_splitter",
    is_udf: false,
    args: [col("title", "string"), lit("sentence", "string")],
    kwargs: {},
    text: "string_splitter(title, 'sentence')",
    outputs: [{ name: "text", type: { kind: "string" as const }, nullable: false, is_stored: true }],
  };
  const over = { filter: null, columns: null };
  const cry = aComputed("cry", call("string.upper", "string", col("title", "string", true)));
  const tables = [
    DOCS,
    aTable("parts", [], { view: { ...over, base: "docs", iterator: split } }),
    aTable("some", [], { view: { ...over, base: "docs", columns: ["title", "n"], iterator: split } }),
    aTable("cries", [cry], { view: { ...over, base: "parts" } }),
  ];
  await apply(aManifest({ tables }));
  const shown = async (path: string): Promise<string[]> => [
    ...(readSources(await catalog())
      .get(path)
      ?.columns.keys() ?? []),
  ];
  await change({ change: "rename_column", table: "docs", column: "title", to: "headline" });
  expect(await shown("parts")).toEqual(["pos", "text", "id", "headline", "n", "loud"]);
  expect(await shown("some")).toEqual(["pos", "text", "headline", "n"]);
  expect((await definition("main/some")).view?.columns).toEqual(["headline", "n"]);
  const renamed = (await definition("main/parts")).view?.iterator;
  expect(renamed).toMatchObject({ text: "string_splitter(headline, 'sentence')", args: [{ name: "headline" }, {}] });
  await change({ change: "add_columns", table: "docs", columns: [aColumn("m", "int", { nullable: true })] });
  await change({ change: "drop_columns", table: "docs", columns: ["n"] });
  expect(await shown("parts")).toEqual(["pos", "text", "id", "headline", "loud", "m"]);
  expect(await shown("some")).toEqual(["pos", "text", "headline"]);
  expect(await shown("cries")).toEqual(["pos", "text", "id", "headline", "loud", "m", "cry"]);
});

test("indexes are added and dropped by name or by column", async () => {
  await applied();
  await insert(1);
  const added = await change({ change: "add_index", table: "docs", index: anIndex(["n"], "by_n") });
  await finish(added.jobs);
  await expect(change({ change: "add_index", table: "docs", index: anIndex(["n"], "by_n") })).rejects.toMatchObject({
    code: "index_exists",
  });
  await change({ change: "drop_index", table: "docs", index: "by_title", column: null });
  await change({ change: "drop_index", table: "docs", index: null, column: "n" });
  expect((await catalog()).tables[0]?.indexes).toEqual([]);
  const missing = { change: "drop_index", table: "docs", index: "by_n", column: null };
  await expect(change(missing)).rejects.toMatchObject({ code: "index_not_found" });
  expect((await change({ ...missing, if_not_exists: "ignore" })).plan.tables).toEqual([]);
});

test("a default index is dropped, and the others stay", async () => {
  await apply(
    aManifest({ tables: [aTable("docs", [aColumn("a", "int"), aColumn("b", "int")], { has_default_idxs: true })] }),
  );
  await change({ change: "drop_index", table: "docs", index: null, column: "a" });
  const [table] = (await catalog()).tables;
  expect(table).toMatchObject({ has_default_idxs: false, indexes: [{ columns: ["b"] }] });
});

test("a table is renamed with its views, and moves to another folder without them", async () => {
  await applied();
  await insert(2);
  await change({ change: "move_table", table: "docs", to: "papers" });
  expect((await catalog()).views).toMatchObject([{ name: "many", definition: { base: "papers" } }]);
  await expect(change({ change: "move_table", table: "papers", to: "reports/papers" })).rejects.toMatchObject({
    code: "has_dependents",
    message: expect.stringContaining("the view 'many'"),
  });
  await change({ change: "move_table", table: "many", to: "lots" });
  expect(await rows(`select "lots.shout" is null from papers`)).toHaveLength(2);
  await change({ change: "drop_table", table: "lots" });
  const { plan } = await change({ change: "move_table", table: "papers", to: "reports/texts" });
  expect(plan.tables).toMatchObject([{ path: "main/reports/texts" }]);
  expect(await rows("select count(*) from reports.texts")).toEqual([["2"]]);
  const again = aTable("texts", [aColumn("a", "int")]);
  await expect(change({ change: "create_table", table: "reports/texts", definition: again })).rejects.toMatchObject({
    code: "table_exists",
  });
});

test("a table takes the place of another one, which is dropped in the same transaction", async () => {
  const one = (name: string) => aTable(name, [aColumn("a", "int")], { has_default_idxs: true });
  for (const name of ["old", "next", "third"]) {
    await change({ change: "create_table", table: name, definition: one(name) });
  }
  await bench.execute({ text: `insert into next (_row, a) values (gen_random_uuid(), 7)` });
  await expect(change({ change: "move_table", table: "next", to: "old" })).rejects.toMatchObject({
    code: "table_exists",
  });
  await change({ change: "move_table", table: "next", to: "old", if_exists: "replace" });
  expect(await rows("select a from old")).toEqual([["7"]]);
  await change({ change: "create_table", table: "reports/old", definition: one("old") });
  await change({ change: "move_table", table: "old", to: "reports/old", if_exists: "replace" });
  expect(await rows("select a from reports.old")).toEqual([["7"]]);
  expect((await catalog()).tables.map(({ folder, name }) => `${folder}/${name}`)).toEqual([
    "public/third",
    "reports/old",
  ]);
});

test("a table with views, or of another project, keeps its place", async () => {
  await applied();
  await change({ change: "create_table", table: "next", definition: aTable("next", [aColumn("a", "int")]) });
  const asked = { change: "move_table", table: "next", to: "docs", if_exists: "replace" };
  await expect(change(asked)).rejects.toMatchObject({
    code: "has_dependents",
    message: expect.stringContaining("the view 'many'"),
  });
  await change({ change: "drop_table", table: "many" });
  await bench.execute({ text: "update appdb.tables set project = '/desk' where name = 'docs'" });
  const isOtherProject = (project: string) => project === "/desk";
  await expect(change(asked, { isOtherProject })).rejects.toMatchObject({ code: "other_project" });
  expect((await catalog()).tables.map(({ name }) => name).toSorted()).toEqual(["docs", "next"]);
});

test("a table is dropped with its views by force only", async () => {
  await applied();
  await expect(change({ change: "drop_table", table: "docs" })).rejects.toMatchObject({
    code: "has_dependents",
    message: expect.stringContaining("the view 'many'"),
  });
  const { plan } = await change({ change: "drop_table", table: "docs", force: true });
  expect(plan.tables.map(({ path }) => path)).toEqual(["main/many", "main/docs"]);
  expect(await catalog()).toMatchObject({ tables: [], views: [] });
  await expect(change({ change: "drop_table", table: "docs" })).rejects.toMatchObject({ code: "table_not_found" });
  expect((await change({ change: "drop_table", table: "docs", if_not_exists: "ignore" })).plan.tables).toEqual([]);
});

test("a folder exists until it is dropped", async () => {
  await change({ change: "create_folder", folder: "reports/old" });
  await expect(change({ change: "create_folder", folder: "reports" })).rejects.toMatchObject({ code: "folder_exists" });
  await change({ change: "create_table", table: "reports/docs", definition: DOCS });
  await change({ change: "drop_table", table: "reports/docs" });
  expect(await listFolders(sql)).toEqual(["reports", "reports/old"]);
  await change({ change: "create_table", table: "reports/docs", definition: DOCS });
  await expect(change({ change: "drop_folder", folder: "reports" })).rejects.toMatchObject({
    code: "has_dependents",
    message: expect.stringContaining("'reports/docs', the folder 'reports/old'"),
  });
  await change({ change: "drop_folder", folder: "reports", force: true });
  expect([await listFolders(sql), (await catalog()).tables]).toEqual([[], []]);
  await expect(change({ change: "drop_folder", folder: "reports" })).rejects.toMatchObject({
    code: "folder_not_found",
  });
});

test("tables of another project are refused", async () => {
  await applied();
  await bench.execute({ text: "update appdb.tables set project = '/desk'" });
  const isOtherProject = (project: string) => project === "/desk";
  for (const asked of [
    { change: "drop_table", table: "docs", force: true },
    { change: "drop_columns", table: "docs", columns: ["loud"] },
    { change: "move_table", table: "docs", to: "papers" },
  ]) {
    await expect(change(asked, { isOtherProject })).rejects.toMatchObject({ code: "other_project" });
  }
});

test("functions of a request become the code of the table", async () => {
  await applied();
  await insert(2);
  const mood = aComputed("mood", udf("notes:mood", "string", col("title", "string")));
  const asked = { change: "add_columns", table: "docs", columns: [mood] };
  await expect(change(asked)).rejects.toMatchObject({ code: "function_missing" });
  const { jobs } = await change(asked, { functions: [aFunction("notes:mood", "string")], runtime_id: "r9" });
  expect(await rows("select runtime_id from appdb.jobs where state = 'queued'")).toEqual([["r9"]]);
  expect(await rows("select runtime_id from appdb.tables")).toEqual([["r9"]]);
  expect(jobs).toHaveLength(1);
});

test("the fill of an added column continues after its runner was killed", async () => {
  await applied();
  await insert(300);
  const twice = aComputed("twice", call("op.mul", "int", col("n", "int", true), lit("2", "int")));
  const { jobs } = await change({ change: "add_columns", table: "docs", columns: [twice] });
  // A runner that took the job, and whose lease has ended since.
  const lease = "owner = 'killed', state = 'running', lease_until = now() - interval '1 hour', started_at = now()";
  await bench.execute({ text: `update appdb.jobs set ${lease}` });
  await finish(jobs);
  expect(await rows("select count(*), sum(twice) from docs where twice = n * 2")).toEqual([["300", "90300"]]);
});

test("two changes at a time are made one after the other", async () => {
  await applied();
  const add = (name: string) =>
    change({ change: "add_columns", table: "docs", columns: [aColumn(name, "int", { nullable: true })] });
  await Promise.all([add("a"), add("b"), add("c")]);
  expect((await catalog()).tables[0]?.columns.map(({ name }) => name)).toEqual(expect.arrayContaining(["a", "b", "c"]));
});

test("the history has a line for each change of a table, the newest first", async () => {
  await applied();
  await change({ change: "add_columns", table: "docs", columns: [aColumn("a", "int", { nullable: true })] });
  await change({ change: "rename_column", table: "docs", column: "a", to: "b" });
  await change({ change: "drop_table", table: "docs", force: true });
  const entries = await listHistory(sql, { table: "docs", limit: 10 });
  expect(entries.map(({ changes, made_by: madeBy }) => [changes, madeBy])).toEqual([
    [["drop table"], null],
    [["rename column a to b"], null],
    [["add column a"], null],
    [["create table"], "app.py"],
  ]);
  expect(await listHistory(sql, { table: null, limit: 1 })).toMatchObject([{ changes: ["drop table"] }]);
});
