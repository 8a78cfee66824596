import type { ManifestTable } from "@appdb/contract/manifest";
import { type TableChange, tableChangeSchema } from "@appdb/contract/routes/table-changes";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { eventually } from "@appdb/testkit/eventually";
import { useJobsBench } from "@appdb/testkit/jobs-bench";
import {
  aColumn,
  aComputed,
  aManifest,
  anIndex,
  aTable,
  aUuid7Key,
  call,
  col,
  lit,
} from "@appdb/testkit/manifest-builder";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listFolders } from "../catalog/folders.ts";
import type { SqlPool } from "../ports.ts";
import { listHistory } from "../schema/changes.ts";
import { type ChangeRequest, changeTable, endCreation } from "./change-table.ts";

const bench = useJobsBench();
const { apply, catalog, finish, rows } = bench;
const log = createSilentLog();

let sql: SqlPool;

beforeEach(async () => {
  sql = createPgPool({ dsn: bench.dsn(), max: 4, application_name: "folder moves" });
});

afterEach(async () => {
  await sql[Symbol.asyncDispose]();
});

function change(asked: unknown, parts: Partial<ChangeRequest> = {}) {
  return changeTable({ sql, clock: { now: Date.now }, log }, requestOf(asked, parts));
}

function requestOf(asked: unknown, parts: Partial<ChangeRequest> = {}): ChangeRequest {
  return {
    change: tableChangeSchema.parse(asked) as TableChange,
    database: "main",
    functions: [],
    resource_pools: [],
    runtime_id: null,
    on_error: "abort",
    dry_run: false,
    ...parts,
  };
}

const move = (table: string, to: string, parts: Partial<ChangeRequest> = {}) =>
  change({ change: "move_table", table, to }, parts);

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
const OVER: Omit<NonNullable<ManifestTable["view"]>, "base"> = { filter: null, columns: null };
const MANY = aTable("many", [aComputed("shout", call("string.upper", "string", col("title", "string")))], {
  view: {
    ...OVER,
    base: "docs",
    filter: { text: "n > 1", expr: call("op.gt", "bool", col("n", "int", true), lit("1", "int")) },
  },
});
const PARTS = aTable("parts", [], {
  view: {
    ...OVER,
    base: "docs",
    iterator: {
      fn: "string.string_splitter",
      is_udf: false,
      args: [col("title", "string"), lit("sentence", "string")],
      kwargs: {},
      text: "string_splitter(title, 'sentence')",
      outputs: [{ name: "text", type: { kind: "string" }, nullable: false, is_stored: true }],
    },
  },
});
const ONE = aTable("one", [aColumn("a", "int")]);

/** `a` has a table with two views, and `a/deep` a table of its own. */
async function twoFolders(): Promise<void> {
  await apply(aManifest({ tables: [DOCS, MANY, PARTS] }), { target: "main/a" });
  await apply(aManifest({ tables: [ONE] }), { target: "main/a/deep" });
  await bench.execute({
    text: `insert into a.docs (id, title, n, loud) select uuidv7(), 't' || i, i, 'T' || i from generate_series(1, 3) i`,
  });
  await bench.execute({ text: `insert into "a/deep".one (_row, a) values (uuidv7(), 7)` });
}

const places = async () => {
  const { tables, views } = await catalog();
  const schemas = await rows(
    "select nspname from pg_namespace where nspname !~ '^(pg_|information_schema$|appdb$|public$)' order by 1",
  );
  return {
    tables: [...tables, ...views].map(({ folder, name }) => `${folder}/${name}`).toSorted(),
    folders: await listFolders(sql),
    schemas: schemas.flat(),
  };
};

const AT_A = {
  tables: ["a/deep/one", "a/docs", "a/many", "a/parts"],
  folders: ["a", "a/deep"],
  schemas: ["a", "a/deep"],
};

test("a folder moves with its tables, views, indexes and folders", async () => {
  await twoFolders();
  const before = await catalog();
  const { jobs, plan } = await move("a", "b/c");
  expect(jobs).toEqual([]);
  expect(plan).toMatchObject({
    target: "main",
    status: "applied",
    ops: [{ name: "main/b/c", target: "folder", status: "applied", details: { moved_from: "a" } }],
  });
  const lines = plan.tables.map(({ kind, ops, path }) => [kind, ops[0]?.details.moved_from, path]);
  expect(lines.toSorted()).toEqual([
    ["table", "a/deep/one", "main/b/c/deep/one"],
    ["table", "a/docs", "main/b/c/docs"],
    ["view", "a/many", "main/b/c/many"],
    ["view", "a/parts", "main/b/c/parts"],
  ]);
  expect(await places()).toEqual({
    tables: ["b/c/deep/one", "b/c/docs", "b/c/many", "b/c/parts"],
    folders: ["b", "b/c", "b/c/deep"],
    schemas: ["b", "b/c", "b/c/deep"],
  });
  expect(await rows(`select n, loud, "many.shout" is null from "b/c".docs order by n`)).toHaveLength(3);
  expect(await rows(`select a from "b/c/deep".one`)).toEqual([["7"]]);
  expect(await rows(`select schemaname from pg_indexes where indexname like '%by_title%'`)).toEqual([["b/c"]]);
  const after = await catalog();
  expect(after.tables.map(({ id }) => id).toSorted()).toEqual(before.tables.map(({ id }) => id).toSorted());
  expect(
    after.tables.every(({ id, version }) => version > (before.tables.find((t) => t.id === id)?.version ?? 0)),
  ).toBe(true);
});

test("rows of an iterator view follow their base in the moved folder", async () => {
  await twoFolders();
  const maker = async () => (await catalog()).tables.find(({ name }) => name === "parts")?.rows_of?.column;
  await move("a", "b");
  const made = JSON.stringify({ pos: [0], text: ["t1."] });
  const functions = await rows(`select prosrc from pg_proc where proname ~ '^(rows|deleted) of '`);
  expect(functions).toHaveLength(2);
  for (const [source] of functions) expect(source).not.toMatch(/\ba\.(docs|parts)\b|"a"\./);
  await bench.execute({ text: `update b.docs set "${await maker()}" = $1 where n = 1`, values: [made] });
  await bench.execute({ text: "delete from b.docs where n = 2" });
  expect(await rows("select count(*) from b.docs")).toEqual([["2"]]);
});

test("a folder is renamed and moves back, and the folders around it stay", async () => {
  await twoFolders();
  await move("a/deep", "deep");
  expect((await places()).folders).toEqual(["a", "deep"]);
  await move("deep", "a/deep");
  await move("a", "other");
  await move("other", "a");
  expect(await places()).toEqual(AT_A);
  await change({ change: "create_folder", folder: "x/y" });
  await move("x/y", "z");
  expect((await places()).folders).toEqual(["a", "a/deep", "x", "z"]);
  expect((await move("a", "a")).plan.in_agreement).toBe(true);
});

test("a change after the move finds the tables at their new paths", async () => {
  await twoFolders();
  await move("a", "b");
  const more = aColumn("more", "int", { nullable: true });
  await change({ change: "add_columns", table: "b/docs", columns: [more] });
  await change({ change: "rename_column", table: "b/docs", column: "title", to: "headline" });
  await change({ change: "move_table", table: "b/many", to: "b/lots" });
  const twice = aComputed("twice", call("op.mul", "int", col("n", "int", true), lit("2", "int")));
  const { jobs } = await change({ change: "add_columns", table: "b/docs", columns: [twice] });
  await finish(jobs);
  expect(await rows("select twice from b.docs order by n")).toEqual([["2"], ["4"], ["6"]]);
  await change({ change: "drop_folder", folder: "b", force: true });
  expect(await places()).toEqual({ tables: [], folders: [], schemas: [] });
});

test.each([
  ["a", "a/x", "invalid_target", "main/a cannot move into itself: main/a/x"],
  ["a", "a/deep/x", "invalid_target", "cannot move into itself"],
  ["a", "b", "folder_exists", "The folder main/b exists"],
  ["a/deep", "a", "folder_exists", "The folder main/a exists"],
  ["a", "taken", "table_exists", "main/taken"],
  ["a", "outside", "folder_exists", 'has a schema "outside" that this product did not create'],
  ["a", "public", "invalid_target", "reserved"],
  ["a", "con", "invalid_name", "'con' cannot be the name of a new folder"],
  ["a", "b".repeat(60), "invalid_target", "its folders have 65 characters together"],
  ["nothing", "b", "table_not_found", "main/nothing does not exist"],
])("the move of %s to %s is refused, and changes nothing", async (from, to, code, message) => {
  await twoFolders();
  await apply(aManifest({ tables: [aTable("taken", [aColumn("a", "int")])] }));
  await change({ change: "create_folder", folder: "b/below" });
  await bench.execute({ text: "create schema outside" });
  const before = await places();
  await expect(move(from, to)).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
  expect(await places()).toEqual(before);
});

test("a folder with a table of another project is refused", async () => {
  await twoFolders();
  await bench.execute({ text: "update appdb.tables set project = '/desk' where name = 'one'" });
  const isOtherProject = (project: string) => project === "/desk";
  await expect(move("a", "b", { isOtherProject })).rejects.toMatchObject({
    code: "other_project",
    message: expect.stringContaining("main/a/deep/one belongs to the project /desk"),
  });
  expect(await places()).toEqual(AT_A);
});

test("a folder with a running fill is refused until it has ended, also by a plan", async () => {
  await twoFolders();
  const twice = aComputed("twice", call("op.mul", "int", col("n", "int", true), lit("2", "int")));
  const { jobs } = await change({ change: "add_columns", table: "a/docs", columns: [twice] });
  for (const dry of [true, false]) {
    await expect(move("a", "b", { dry_run: dry })).rejects.toMatchObject({
      code: "has_dependents",
      message: expect.stringContaining(`the job ${jobs[0]} of 'docs' (twice)`),
      hint: "Wait until it has ended: cli jobs list main",
    });
  }
  await finish(jobs);
  await move("a", "b");
  expect(await rows("select twice from b.docs order by n")).toEqual([["2"], ["4"], ["6"]]);
});

test("a creation whose folder moves after its jobs ends in the new folder", async () => {
  await twoFolders();
  const asked = { change: "create_table", table: "a/many", definition: MANY, if_exists: "replace" };
  const { creating, jobs } = await change(asked);
  await finish(jobs);
  await move("a", "b");
  expect((await places()).tables).toContain("b/many_replaced");
  if (creating === null) throw new Error("the view has values that a job computes");
  await endCreation({ sql, clock: { now: Date.now }, log }, requestOf(asked), creating, { failed: false });
  expect((await places()).tables).toEqual(["b/deep/one", "b/docs", "b/many", "b/parts"]);
});

test("a plan shows the move and changes nothing", async () => {
  await twoFolders();
  const { plan } = await move("a", "b", { dry_run: true });
  expect(plan.ops).toMatchObject([{ name: "main/b", status: null, description: "the folder will be moved from 'a'" }]);
  expect(plan.tables).toHaveLength(4);
  expect(await places()).toEqual(AT_A);
});

test("of two moves of a folder at a time, one is made and the other finds no folder", async () => {
  await twoFolders();
  const done = await Promise.allSettled([move("a", "b"), move("a", "c"), move("a/deep", "d")]);
  const folders = (await places()).folders;
  expect(done.filter(({ status }) => status === "fulfilled").length).toBeGreaterThanOrEqual(1);
  for (const one of done) if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "table_not_found" });
  expect(folders.filter((name) => name === "b" || name === "c")).toHaveLength(1);
});

test("a move that is killed in between leaves everything where it was", async () => {
  await twoFolders();
  await bench.transaction(async (other) => {
    // The schemas have their new names by then, and the catalog does not.
    await other.query({ text: "select from appdb.folders where name = 'a/deep' for update" });
    const moved = move("a", "b").then(
      () => "moved",
      () => "killed",
    );
    await eventually(async () => {
      const found = await rows(`select pg_terminate_backend(pid) from pg_stat_activity
        where wait_event_type = 'Lock' and query like 'update appdb.folders%'`);
      expect(found).toEqual([["t"]]);
    });
    expect(await moved).toBe("killed");
  });
  expect(await places()).toEqual(AT_A);
  await move("a", "b");
  expect((await places()).tables).toContain("b/docs");
});

test("an open cursor delays the move, and reads to its end", async () => {
  await twoFolders();
  let moved: Promise<unknown> = Promise.resolve();
  await bench.transaction(async (reader) => {
    await reader.query({ text: "declare open cursor for select n from a.docs order by n" });
    expect((await reader.query({ text: "fetch 1 from open" })).rows).toEqual([["1"]]);
    moved = move("a", "b");
    await eventually(async () => {
      expect(
        await rows("select count(*) from pg_stat_activity where query like 'lock table%' and wait_event_type = 'Lock'"),
      ).toEqual([["1"]]);
    });
    expect((await reader.query({ text: "fetch 5 from open" })).rows).toEqual([["2"], ["3"]]);
  });
  await moved;
  expect((await places()).tables).toContain("b/docs");
});

test("the history of a table continues through its moves, and that of a folder has its tables", async () => {
  await twoFolders();
  await change({ change: "move_table", table: "a/docs", to: "a/papers" });
  await move("a", "b");
  await move("b", "c");
  const shown = async (table: string, limit = 10) =>
    (await listHistory(sql, { table, limit })).map((entry) => [entry.table, ...entry.changes]);
  expect(await shown("c/papers")).toEqual([
    ["c/papers", "move table from b/papers"],
    ["b/papers", "move table from a/papers"],
    ["a/papers", "rename table from docs"],
    ["a/docs", "create table"],
  ]);
  expect(await shown("c/papers", 2)).toHaveLength(2);
  const ofFolder = await shown("c", 50);
  expect(ofFolder.filter(([path = ""]) => !path.includes("/"))).toEqual([
    ["c", "move folder from b"],
    ["b", "move folder from a"],
  ]);
  expect(ofFolder).toEqual(
    expect.arrayContaining([
      ["c/many", "move view from b/many"],
      ["b/papers", "move table from a/papers"],
      ["a/papers", "rename table from docs"],
      ["a/docs", "create table"],
    ]),
  );
  await change({ change: "move_table", table: "c/deep/one", to: "d/one" });
  expect((await shown("d", 50)).map(([path]) => path)).toEqual(["d/one"]);
  expect(await listHistory(sql, { table: "d", limit: 50, is_table: true })).toEqual([]);
  expect((await shown("c/many"))[0]).toEqual(["c/many", "move view from b/many"]);
});
