import type { ManifestColumn } from "@appdb/contract/manifest";
import { type TableChange, tableChangeSchema } from "@appdb/contract/routes/table-changes";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { docs, useJobsBench } from "@appdb/testkit/jobs-bench";
import {
  aColumn,
  aComputed,
  aFunction,
  aManifest,
  anIndex,
  aTable,
  call,
  col,
  lit,
  udf,
} from "@appdb/testkit/manifest-builder";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SqlPool } from "../ports.ts";
import { type ChangeRequest, changeTable, endCreation } from "./change-table.ts";
import { Creations } from "./creations.ts";

const bench = useJobsBench();

let sql: SqlPool;

beforeEach(() => {
  sql = createPgPool({ dsn: bench.dsn(), max: 4, application_name: "again" });
});

afterEach(async () => {
  await sql[Symbol.asyncDispose]();
});

const creations = new Creations();
const deps = () => ({ sql, creations, clock: { now: Date.now }, log: createSilentLog() });

function requestOf(asked: Readonly<Record<string, unknown>>): ChangeRequest {
  const code = { functions: [], resource_pools: [], runtime_id: null };
  const parsed = tableChangeSchema.parse(asked) as TableChange;
  return { ...code, change: parsed, database: "main", on_error: "abort", dry_run: false };
}

const change = (asked: Readonly<Record<string, unknown>>, signal?: AbortSignal) =>
  changeTable(deps(), requestOf(asked), signal);

const add = (columns: readonly ManifestColumn[], ifExists = "replace", signal?: AbortSignal) =>
  change({ change: "add_columns", table: "docs", columns, if_exists: ifExists }, signal);

const length = call("string.len", "int", col("title", "string"));
const W = aComputed("w", length);
const MORE = aComputed("w", call("op.add", "int", length, lit("1", "int")));
const AS_TEXT = aComputed("w", call("string.upper", "string", col("title", "string")));
const valuesOfW = () => bench.rows("select w from docs order by n");

async function open(...columns: ManifestColumn[]): Promise<void> {
  await bench.apply(docs(...columns));
  await bench.insertDocs(2);
  if (columns.length > 0) await bench.execute({ text: "update docs set w = length(title)" });
}

const ways: readonly [string, readonly ManifestColumn[], ManifestColumn, readonly string[][]][] = [
  ["a new column", [], W, [["7"], ["7"]]],
  ["a column of the same type", [W], MORE, [["8"], ["8"]]],
  ["a column that gets another type", [W], AS_TEXT, [["TITLE 1"], ["TITLE 2"]]],
];

test.each(ways)("the same change of %s waits for the job that computes it", async (_, before, after) => {
  await open(...before);
  const first = await add([after]);
  expect(first.jobs).toHaveLength(1);
  for (const ifExists of ["replace", "ignore"]) {
    const again = await add([after], ifExists);
    expect([again.plan.tables, again.jobs]).toEqual([[], first.jobs]);
  }
  await bench.finish(first.jobs);
  expect((await add([after])).jobs).toEqual([]);
});

test("the same addition waits for its job, and is refused when the column is finished", async () => {
  await open();
  const { jobs } = await add([W], "error");
  const again = await add([W], "error");
  expect([again.plan.tables, again.jobs]).toEqual([[], jobs]);
  await bench.finish(jobs);
  await expect(add([W], "error")).rejects.toMatchObject({ code: "column_exists" });
});

test("another column of the same name is refused while the first is still computed", async () => {
  await open();
  const { jobs } = await add([W], "error");
  const commented = { ...W, comment: "letters" };
  const stored = aColumn("w", "int", { nullable: true });
  for (const other of [[MORE], [AS_TEXT], [commented], [stored], [W, aComputed("third", length)]]) {
    await expect(add(other, "error")).rejects.toMatchObject({ code: "column_exists", meta: { column: "w" } });
  }
  const planned = { ...requestOf({ change: "add_columns", table: "docs", columns: [W] }), dry_run: true };
  expect(await changeTable(deps(), planned)).toMatchObject({ plan: { tables: [] }, jobs: [] });
  await bench.finish(jobs);
});

test("a column by a function with other code is refused while the first is still computed", async () => {
  await open();
  const called = aComputed("w", udf("app:count", "int", col("title", "string")));
  const withCode = async (digest: string) => {
    const asked = requestOf({ change: "add_columns", table: "docs", columns: [called] });
    return await changeTable(deps(), { ...asked, functions: [aFunction("app:count", "int", { digest })] });
  };
  const { jobs } = await withCode("a");
  expect((await withCode("a")).jobs).toEqual(jobs);
  await expect(withCode("b")).rejects.toMatchObject({ code: "column_exists" });
});

test("a view waits for its own column that is still computed", async () => {
  await open();
  const made = await change({ change: "create_table", table: "many", definition: definition(), if_exists: "error" });
  await bench.finish(made.jobs);
  const asked = { change: "add_columns", table: "many", columns: [W] };
  const { jobs } = await change(asked);
  expect(jobs).toHaveLength(1);
  expect((await change(asked)).jobs).toEqual(jobs);
  await expect(change({ ...asked, columns: [MORE] })).rejects.toMatchObject({ code: "column_exists" });
  await bench.finish(jobs);
});

test.each(ways)(
  "the change of %s starts again after its cancelled job is undone",
  async (_, before, after, computed) => {
    await open(...before);
    const values = await (before.length === 0 ? Promise.resolve([]) : valuesOfW());
    const { jobs } = await add([after]);
    await bench.execute({ text: "update appdb.jobs set is_cancelled = true" });
    const stop = new AbortController();
    const stopped = add([after], "replace", stop.signal);
    stop.abort();
    await expect(stopped).rejects.toThrow("aborted");
    const again = add([after]);
    await expect(bench.finish(jobs)).rejects.toMatchObject({ code: "job_cancelled" });
    if (before.length > 0) expect(await valuesOfW()).toEqual(values);
    const { jobs: second, plan } = await again;
    expect(plan.tables).toMatchObject([{ path: "main/docs", ops: [{ name: "w" }] }]);
    expect(second).toHaveLength(1);
    await bench.finish(second);
    expect(await valuesOfW()).toEqual(computed);
  },
);

test("a change waits for the earlier jobs of its own columns only", async () => {
  await open();
  const first = await add([W]);
  expect((await add([aColumn("note", "string", { nullable: true })])).jobs).toEqual([]);
  const other = aComputed("other", length);
  expect((await add([other])).jobs).not.toContain(first.jobs[0]);
  const both = await add([W, aComputed("third", length)]);
  expect(both.jobs).toEqual([...first.jobs, expect.any(String)]);
  await bench.finish(both.jobs);
});

test("another change of a column does not wait for the end of the first", async () => {
  await open(W);
  const first = await add([MORE]);
  const second = await add([AS_TEXT]);
  expect(second.jobs).not.toContain(first.jobs[0]);
  await bench.finish(second.jobs);
  expect(await valuesOfW()).toEqual([["TITLE 1"], ["TITLE 2"]]);
});

test("an index that exists and is still being built is waited for", async () => {
  await open();
  const asked = { change: "add_index", table: "docs", index: anIndex(["title"], "by_title"), if_exists: "ignore" };
  const { jobs } = await change(asked);
  expect(jobs).toHaveLength(1);
  expect((await change(asked)).jobs).toEqual(jobs);
  await bench.finish(jobs);
  expect((await change(asked)).jobs).toEqual([]);
});

const definition = () => {
  const view = {
    base: "docs",
    filter: { text: "n > 1", expr: call("op.gt", "bool", col("n", "int", true), lit("1", "int")) },
  };
  return aTable("many", [aComputed("loud", AS_TEXT.computed?.expr ?? length)], {
    view: { ...view, columns: null },
  });
};

test("a view that exists and models that match wait for the columns that are still computed", async () => {
  await open();
  const asked = { change: "create_table", table: "many", definition: definition(), if_exists: "ignore" };
  const { jobs } = await change(asked);
  expect((await change(asked)).jobs).toEqual(jobs);
  const { tables } = aManifest({ tables: [...docs().tables, definition()] });
  const models = {
    change: "update_tables",
    folder: "",
    definitions: tables,
    allow_destructive: false,
  };
  expect((await change(models)).jobs).toEqual(jobs);
  await bench.finish(jobs);
  expect((await change(models)).jobs).toEqual([]);
});

test("a view whose job was cancelled is created again after its creation is undone", async () => {
  await open();
  const asked = { change: "create_table", table: "many", definition: definition(), if_exists: "ignore" };
  const { creating, jobs } = await change(asked);
  if (creating === null) throw new Error("The view has no job.");
  const ended = creations.begin({ table: creating.table, jobs });
  await bench.execute({ text: "update appdb.jobs set is_cancelled = true" });
  const again = change(asked);
  await expect(bench.finish(jobs)).rejects.toMatchObject({ code: "job_cancelled" });
  await endCreation(deps(), requestOf(asked), creating, { failed: true });
  ended();
  const { jobs: second, plan } = await again;
  expect(plan.tables).toMatchObject([{ path: "main/many", resolution: "create" }]);
  await bench.finish(second);
  expect(await bench.rows('select "many.loud" from docs order by n')).toEqual([[null], ["TITLE 2"]]);
});
