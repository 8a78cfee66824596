import type { ManifestTable } from "@appdb/contract/manifest";
import { parseTablePath } from "@appdb/contract/names";
import { type TableChange, tableChangeSchema } from "@appdb/contract/routes/table-changes";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import { aCreation } from "@appdb/testkit/change-request";
import { fakeWorkers, useJobsBench } from "@appdb/testkit/jobs-bench";
import { aColumn, aComputed, aFunction, aManifest, aTable, call, col, lit, udf } from "@appdb/testkit/manifest-builder";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, beforeEach, expect, test } from "vitest";
import { nameTables } from "../data-queries/name-tables.ts";
import { readSources } from "../data-queries/read-sources.ts";
import { watchJobs } from "../jobs/watch-jobs.ts";
import type { SqlPool } from "../ports.ts";
import { readableTables, rowsSql } from "../views/view-tables.ts";
import { type ChangedTables, changeTable, endCreation } from "./change-table.ts";
import { declarationOf, requireStored } from "./read-declaration.ts";

const bench = useJobsBench();
const { apply, catalog, finish, rows } = bench;
const clock = { now: Date.now };
const log = createSilentLog();

let sql: SqlPool;

beforeEach(async () => {
  sql = createPgPool({ dsn: bench.dsn(), max: 4, application_name: "creations" });
  await apply(aManifest({ tables: [DOCS] }));
  await bench.execute({
    text: "insert into docs (_row, id, title) select uuidv7(), i, 't' || i from generate_series(1, 3) i",
  });
});

afterEach(async () => {
  await sql[Symbol.asyncDispose]();
});

const DOCS = aTable("docs", [aColumn("id", "int"), aColumn("title", "string")], { primary_key: ["id"] });
const BAD = udf("app:bad", "string", col("title", "string"));
const boom = () => {
  throw new Error("boom");
};
const failing = fakeWorkers({ "v.bad": boom, "v.(rows)": boom });

const isBad = (name: string): ManifestTable =>
  aTable(name, [], {
    view: {
      base: "docs",
      filter: { text: "bad", expr: call("op.eq", "bool", BAD, lit("x", "string")) },
      columns: null,
    },
  });
const withBad = (name: string): ManifestTable =>
  aTable(name, [aComputed("h", call("string.upper", "string", col("title", "string"))), aComputed("bad", BAD)], {
    view: { base: "docs", filter: null, columns: null },
  });
const some = (name: string): ManifestTable =>
  aTable(name, [aComputed("twice", call("op.mul", "int", col("id", "int"), lit("2", "int")))], {
    view: {
      base: "docs",
      filter: { text: "id > 1", expr: call("op.gt", "bool", col("id", "int"), lit("1", "int")) },
      columns: null,
    },
  });

async function create(definition: ManifestTable, ifExists?: string): Promise<ChangedTables> {
  const request = aCreation(definition, ifExists);
  const changed = await changeTable({ sql, clock, log }, request);
  const failed = await finish(changed.jobs, bench.deps({ udf: failing.udf })).then(
    () => false,
    () => true,
  );
  if (changed.creating !== null) await endCreation({ sql, clock, log }, request, changed.creating, { failed });
  return changed;
}

async function names(): Promise<readonly string[]> {
  return readableTables(await catalog()).map(({ name }) => name);
}

async function valuesOf(view: string): Promise<unknown> {
  const shown = readableTables(await catalog()).find(({ name }) => name === view);
  return shown === undefined ? undefined : await rows(`select id, twice from ${rowsSql(shown)} order by id`);
}

test.each([isBad, withBad])("leaves nothing of a view whose values cannot be computed (%#)", async (view) => {
  await create(view("v"));
  expect(await names()).toEqual(["docs"]);
  expect((await catalog()).tables[0]?.columns.map(({ name }) => name)).toEqual(["id", "title"]);
  await create(some("v"));
  expect(await valuesOf("v")).toEqual([
    ["2", "4"],
    ["3", "6"],
  ]);
});

test.each([isBad, withBad])("keeps the view that such a view was to replace (%#)", async (view) => {
  await create(some("v"));
  await create(view("v"), "replace");
  expect(await names()).toEqual(["docs", "v"]);
  expect(await valuesOf("v")).toEqual([
    ["2", "4"],
    ["3", "6"],
  ]);
});

test("keeps the table that such a view was to replace", async () => {
  await create(aTable("v", [aColumn("id", "int"), aColumn("twice", "int")]));
  await bench.execute({ text: "insert into v (_row, id, twice) values (uuidv7(), 7, 14)" });
  await create(withBad("v"), "replace");
  expect(await valuesOf("v")).toEqual([["7", "14"]]);
});

test("replaces a view by one whose values are computed", async () => {
  await create(some("v"));
  const other = aTable("v", [aComputed("more", call("op.mul", "int", col("id", "int"), lit("3", "int")))], {
    view: { base: "docs", filter: null, columns: null },
  });
  const { jobs } = await create(other, "replace");
  expect(jobs).not.toEqual([]);
  expect(await names()).toEqual(["docs", "v"]);
  expect((await catalog()).tables[0]?.columns.map(({ name }) => name)).toEqual(["id", "title", "v.more"]);
});

test("leaves a view that someone else made under the name meanwhile", async () => {
  const request = aCreation(withBad("v"));
  const { creating, jobs } = await changeTable({ sql, clock, log }, request);
  await finish(jobs, bench.deps({ udf: failing.udf })).catch(() => undefined);
  const drop = tableChangeSchema.parse({ change: "drop_table", table: "v" }) as TableChange;
  await changeTable({ sql, clock, log }, { ...request, change: drop });
  await create(some("v"));
  if (creating !== null) await endCreation({ sql, clock, log }, request, creating, { failed: true });
  expect(await names()).toEqual(["docs", "v"]);
});

test("says what the undoing left, and shows a row without a key by its columns", async () => {
  await apply(aManifest({ tables: [DOCS, aTable("plain", [aColumn("title", "string")])] }));
  await bench.execute({ text: "insert into plain (_row, title) values (uuidv7(), 'one')" });
  const view = withBad("v");
  const over = { ...view, view: { base: "plain", filter: null, columns: null } };
  const { jobs } = await changeTable({ sql, clock, log }, aCreation(over));
  await finish(jobs, bench.deps({ udf: failing.udf })).catch(() => undefined);
  const watched = watchJobs(
    { sql, clock },
    jobs,
    () => undefined,
    new AbortController().signal,
    async () => "Gone.",
  );
  await expect(watched).rejects.toMatchObject({
    message: expect.stringMatching(/for the row title = "one"; \d of \d rows were done\. Gone\./),
    meta: { row: { title: JSON.stringify("one") } },
  });
});

test("a view over a table of another project is refused, and so is a replaced column without a change", async () => {
  await bench.execute({ text: "update appdb.tables set project = '/desk'" });
  const mine = { project: "/mine", isOtherProject: (project: string) => project === "/desk" };
  const again = { change: "add_columns", table: "docs", columns: [aColumn("title", "string")], if_exists: "replace" };
  const replace = tableChangeSchema.parse(again) as TableChange;
  for (const request of [aCreation(some("v")), { ...aCreation(DOCS), change: replace }]) {
    const asked = changeTable({ sql, clock, log }, { ...request, ...mine });
    await expect(asked).rejects.toMatchObject({ code: "other_project" });
  }
  expect((await catalog()).tables.map(({ project }) => project)).toEqual(["/desk"]);
});

test("a view of a file whose condition failed is empty, and so is one over it", async () => {
  const over = aTable("over", [], { view: { base: "v", filter: null, columns: null } });
  const jobs = await apply(
    aManifest({ tables: [DOCS, isBad("v"), over], functions: [aFunction("app:bad", "string")] }),
  );
  await expect(finish(jobs, bench.deps({ udf: failing.udf }))).rejects.toMatchObject({ code: "fill_failed" });
  const failed = await catalog();
  for (const name of ["v", "over"]) {
    const shown = readableTables(failed).find((table) => table.name === name);
    expect(await rows(`select count(*) from ${shown === undefined ? "" : rowsSql(shown)}`)).toEqual([["0"]]);
    expect(readSources(failed).get(name)?.view?.definition.member).toMatchObject({ node: "literal", value: false });
    const statement = `select count(*) from ${name}`;
    expect(await rows(`${nameTables(failed, "", statement)} ${statement}`)).toEqual([["0"]]);
  }
  const broken = () => declarationOf(failed, requireStored(failed, parseTablePath("main/v")));
  expect(broken).toThrow(
    expect.objectContaining({ code: "schema_unsupported", hint: expect.stringContaining("cli drop") }),
  );
  const note = { change: "add_columns", table: "docs", columns: [aColumn("note", "string", { nullable: true })] };
  const change = tableChangeSchema.parse(note) as TableChange;
  await changeTable({ sql, clock, log }, { ...aCreation(DOCS), change });
  expect((await catalog()).tables[0]?.columns.map(({ name }) => name)).toContain("note");
});
