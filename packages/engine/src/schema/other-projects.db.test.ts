import type { ManifestTable } from "@appdb/contract/manifest";
import { aColumn, aManifest, aTable, call, col, lit } from "@appdb/testkit/manifest-builder";
import { openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { planSchema } from "./plan-schema.ts";
import { planPrune, pruneTables } from "./prune-tables.ts";

const target = "main";
const wide = aManifest({ tables: [aTable("docs", [aColumn("n", "int"), aColumn("m", "int")])] });
const narrow = aManifest({ tables: [aTable("docs", [aColumn("n", "int")])] });
const others = aManifest({ tables: [aTable("notes", [aColumn("n", "int")])] });
const isOtherProject = (project: string) => project !== "/triage";

let tested: TestCatalog;

beforeAll(async () => {
  tested = await openTestCatalog();
  await tested.apply(wide, { project: "/desk" });
});

afterAll(() => tested[Symbol.asyncDispose]());

test("a plan names the other project of a table", async () => {
  const catalog = await loadCatalog(tested.sql);
  const plan = (of: typeof isOtherProject) =>
    planSchema({ manifest: narrow, catalog, target, isOtherProject: of }).plan.tables[0];
  expect(plan(isOtherProject)).toMatchObject({ project: "/desk", destructive: true });
  expect(plan((project) => project !== "/desk")).not.toHaveProperty("project");
});

test("an update never destroys data of another project, even with permission", async () => {
  const options = { project: "/triage", isOtherProject, allow_destructive: true };
  await expect(tested.apply(narrow, options)).rejects.toMatchObject({
    code: "other_project",
    message: expect.stringContaining("main/docs belongs to the project /desk"),
    hint: expect.stringContaining("--take-over"),
  });
  expect((await loadCatalog(tested.sql)).tables[0]?.columns.map(({ name }) => name)).toContain("m");
});

test("an additive update of another project is refused", async () => {
  const wider = aManifest({
    tables: [aTable("docs", [aColumn("n", "int"), aColumn("m", "int"), aColumn("x", "int", { nullable: true })])],
  });
  await expect(tested.apply(wider, { project: "/triage", isOtherProject })).rejects.toMatchObject({
    code: "other_project",
    message: expect.stringContaining("main/docs belongs to the project /desk"),
    hint: expect.stringMatching(/cli schema update app\.py main --take-over$/),
  });
  expect((await loadCatalog(tested.sql)).tables[0]).toMatchObject({ project: "/desk", columns: { length: 2 } });
});

test("an update that changes nothing leaves project and runtime to the owner", async () => {
  await tested.apply(wide, { project: "/triage", isOtherProject, runtime_id: "r2" });
  expect(await tested.rows("select project, runtime_id from appdb.tables")).toEqual([["/desk", "r1"]]);
});

test("a prune keeps tables of another project and drops the caller's", async () => {
  await tested.apply(others, { project: "/triage" });
  const input = { manifest: aManifest({ tables: [] }), target, isOtherProject };
  const planned = await planPrune(tested.sql, input, await loadCatalog(tested.sql));
  expect(planned).toMatchObject({
    ops: [
      { name: "main/docs", severity: "blocked", destructive: false, details: { project: "/desk" } },
      { name: "main/notes", severity: "destructive", destructive: true },
    ],
    summary: { destructive: 1 },
  });
  const deps = { sql: tested.sql, clock: tested.clock, log: tested.log };
  const done = await pruneTables(deps, { ...input, catalog_version: planned.catalog_version });
  expect(done.ops.map(({ name, status }) => [name, status])).toEqual([
    ["main/docs", "refused"],
    ["main/notes", "applied"],
  ]);
  expect((await loadCatalog(tested.sql)).tables.map(({ name }) => name)).toEqual(["docs"]);
});

test("an update without the check takes the table over", async () => {
  await tested.apply(narrow, { project: "/triage", allow_destructive: true });
  expect((await loadCatalog(tested.sql)).tables[0]).toMatchObject({ project: "/triage" });
});

test("an update takes over a table that needs no change", async () => {
  await tested.apply(narrow, { project: "/desk", runtime_id: "r3" });
  expect(await tested.rows("select project, runtime_id from appdb.tables")).toEqual([["/desk", "r3"]]);
});

test("a view of another project is named with its owner, and stays as it is", async () => {
  await using lib = await openTestCatalog();
  const tables = ["docs", "others"].map((name) => aTable(name, [aColumn("n", "int")]));
  const view = (name: string, base: string, least: string) => {
    const expr = call("op.gt", "bool", col("n", "int"), lit(least, "int"));
    return aTable(name, [], { primary_key: [], view: { base, filter: { text: "n > 1", expr }, columns: null } });
  };
  await lib.apply(aManifest({ tables: [...tables, view("few", "docs", "1")] }), { project: "/lib" });
  const refused = async (...models: ManifestTable[]) => {
    const manifest = aManifest({ tables: models });
    return lib.apply(manifest, { project: "/triage", isOtherProject, allow_destructive: true }).catch((error) => error);
  };
  const step = "Give the model another name=, or use a database of your own: cli schema update app.py <name>";
  const own = `It belongs to the project /lib. ${step}`;
  for (const [models, what] of [
    [[aTable("few", [aColumn("n", "int")])], "'few' is a filtered view and cannot become a table. "],
    [[aTable("others", [aColumn("n", "int")]), view("few", "others", "1")], "it is a view of 'docs'. "],
    [[aTable("mine", [aColumn("n", "int")]), view("docs", "mine", "1")], "a table of the name 'docs' exists. "],
  ] as const) {
    expect(await refused(...models)).toMatchObject({
      code: "schema_unsupported",
      message: expect.stringContaining(`${what}${own}`),
      hint: expect.stringContaining("Use a database of your own"),
    });
  }
  expect(await refused(...tables, view("few", "docs", "2"))).toMatchObject({
    code: "other_project",
    message: expect.stringContaining("main/few belongs to the project /lib"),
  });
  expect((await loadCatalog(lib.sql)).views).toMatchObject([
    { name: "few", definition: { member: { args: [{}, { value: "1" }] } } },
  ]);
});
