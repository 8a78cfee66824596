import type { Manifest, ManifestColumn, ManifestIndex, ManifestTable } from "@appdb/contract/manifest";
import type { EngineValue } from "@appdb/contract/types";
import { docs, fakeWorkers, upperColumn, useJobsBench } from "@appdb/testkit/jobs-bench";
import { aComputed, aFunction, aManifest, anIndex, aTable, call, col, lit, udf } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { cancelJob } from "../background/list-jobs.ts";
import { shadowsOf } from "../catalog/shadow-columns.ts";
import type { JobDeps } from "./job-deps.ts";

const { execute, rows, catalog, apply, insertDocs, deps, finish, isInAgreement } = useJobsBench();

const title = col("title", "string");
const one = upperColumn("b", "title");
const two = aComputed("b", udf("app:two", "int", title));
const readerOf = (kind: "string" | "int"): ManifestColumn => aComputed("c", udf("app:seen", "string", col("b", kind)));

/** Documents that are long in a column that gets another type. */
const view = (kind: "string" | "int"): ManifestTable =>
  aTable("long", [aComputed("shout", call("string.upper", "string", col("c", "string")))], {
    view: {
      base: "docs",
      filter: { text: "b is not None", expr: call("op.not", "bool", call("op.is_null", "bool", col("b", kind))) },
      columns: null,
    },
  });

function declared(
  columns: readonly ManifestColumn[],
  views: readonly ManifestTable[] = [],
  indexes: readonly ManifestIndex[] = [anIndex(["b"])],
): Manifest {
  const [base] = docs(...columns).tables;
  const table = aTable("docs", base?.columns ?? [], { indexes: [...indexes] });
  const functions = [aFunction("app:two", "int"), aFunction("app:seen", "string")];
  return aManifest({ tables: [table, ...views], functions });
}

type Row = Readonly<Record<string, EngineValue>>;

/** Workers of the table as it is now, in which the functions of shadows have the names of the shadows. */
async function workers(refused?: string): Promise<JobDeps> {
  const [table] = (await catalog()).tables;
  const shadows = shadowsOf(table ?? { columns: [] });
  const b = shadows.find(({ column }) => column.name === "b")?.shadow.name ?? "b";
  const two = ({ title: text }: Row): EngineValue => {
    if (text === refused) throw new Error("not today");
    return String(text).slice("title ".length);
  };
  const seen = (row: Row): EngineValue => `seen ${row[b]}`;
  const byName = { b: two, c: seen };
  const steps = shadows.flatMap(({ column: { name }, shadow }) => {
    return name === "b" || name === "c" ? [[shadow.name, byName[name]] as const] : [];
  });
  const { udf: start } = fakeWorkers({ ...byName, ...Object.fromEntries(steps) });
  return deps({ udf: start });
}

/** All that a failed job must leave as it was. */
async function everything(): Promise<unknown> {
  const { tables, views } = await catalog();
  return {
    columns: tables.flatMap(({ columns }) => columns.map(({ code: _code, ...column }) => column)),
    indexes: tables.flatMap(({ indexes }) => indexes),
    views: views.map(({ definition }) => definition),
    rows: await rows("select to_jsonb(docs) - '_row' from docs order by n"),
    stored: await rows(
      "select attname, atttypid::regtype from pg_attribute where attrelid = 'docs'::regclass and attnum > 0 and not attisdropped order by attnum",
    ),
    built: await rows("select indexdef from pg_indexes where tablename = 'docs' order by 1"),
  };
}

const cases = [
  ["no reader", [one], [two], [], []],
  ["a reader", [one, readerOf("string")], [two, readerOf("int")], [], []],
  ["a reader and a view", [one, readerOf("string")], [two, readerOf("int")], [view("string")], [view("int")]],
] as const;

for (const [what, before, after, viewsBefore, viewsAfter] of cases) {
  test(`a column that gets another type, with ${what}, stays until its new values are computed`, async () => {
    const [former, changed] = [declared(before, viewsBefore), declared(after, viewsAfter)];
    await apply(declared([one]));
    await insertDocs(200);
    await execute({ text: "update docs set b = upper(title)" });
    const first = await apply(former);
    await finish(first, await workers());
    const kept = await everything();

    const jobs = await apply(changed);
    expect(await rows("select count(*) from docs where b = upper(title)")).toEqual([["200"]]);
    expect((await catalog()).tables[0]?.columns.find(({ name }) => name === "b")).toMatchObject({
      type: { kind: "string" },
      state: "ready",
      computed: { expr: { fn: "string.upper" } },
    });
    await expect(finish(jobs, await workers("title 150"))).rejects.toMatchObject({
      code: "fill_failed",
      message: expect.stringMatching(/^Column docs\.b: .* The column keeps its previous expression and values\./),
    });
    await finish(jobs.slice(1), await workers("title 150"));
    expect(await everything()).toEqual(kept);
    expect(await isInAgreement(former)).toBe(true);

    const again = await apply(changed);
    await finish(again, await workers());
    expect(await isInAgreement(changed)).toBe(true);
    expect(await rows("select count(*), sum(b) from docs where b = n")).toEqual([["200", "20100"]]);
    if (before.length > 1) {
      expect(await rows("select c from docs where n < 3 order by n")).toEqual([["seen 1"], ["seen 2"]]);
    }
    if (viewsAfter.length > 0) {
      expect(await rows(`select "long.shout" from docs where n < 3 order by n`)).toEqual([["SEEN 1"], ["SEEN 2"]]);
    }
    expect(await rows("select indexname from pg_indexes where tablename = 'docs' and indexname like '%(b)'")).toEqual([
      ["docs(b)"],
    ]);
    const left = "attrelid = 'docs'::regclass and attname like '#%' and not attisdropped";
    expect(await rows(`select attname from pg_attribute where ${left}`)).toEqual([]);
  });
}

test("failed cells of the previous values go, and those of the new ones stay, if errors are ignored", async () => {
  await apply(declared([one]));
  await insertDocs(200);
  await execute({ text: `update docs set _errors = '{"b": {"type": "E"}}' where n = 1` });
  const jobs = await apply(declared([two]));
  await execute({ text: "update appdb.jobs set on_error = 'ignore'" });
  await finish(jobs, await workers("title 150"));
  expect(await rows("select n, b, _errors -> 'b' ->> 'message' from docs where _errors is not null")).toEqual([
    ["150", null, "not today"],
  ]);
  expect(await isInAgreement(declared([two]))).toBe(true);
});

test("a cancelled change of a type leaves the column, and others cannot change the table meanwhile", async () => {
  await apply(declared([one]));
  await insertDocs(3);
  const kept = await everything();
  const [job = "", index = ""] = await apply(declared([two]));
  const other = declared([two, aComputed("d", call("op.add", "string", title, lit("!", "string")))]);
  await expect(apply(other)).rejects.toMatchObject({
    message: expect.stringContaining("'docs' cannot change while a job computes its columns again"),
  });
  await cancelJob(deps().sql, { now: Date.now }, job);
  await finish([index]);
  expect(await everything()).toEqual(kept);
  expect(await rows("select change from appdb.changes order by id desc limit 2")).toEqual([
    ["restore column b (its job was cancelled)"],
    ["change column b"],
  ]);
});

for (const [what, before, after] of [
  ["loses its index", [anIndex(["b"])], []],
  ["gets an index", [], [anIndex(["b"])]],
] as const) {
  test(`a column that gets another type and ${what} has its previous index until then`, async () => {
    const changed = declared([two], [], after);
    await apply(declared([one], [], before));
    await insertDocs(200);
    await execute({ text: "update docs set b = upper(title)" });
    const kept = await everything();
    const [job = "", ...others] = await apply(changed);
    const refusing = await workers("title 150");
    await expect(finish([job], refusing)).rejects.toMatchObject({ code: "fill_failed" });
    await finish(others, refusing);
    expect(await everything()).toEqual(kept);
    const again = await apply(changed);
    await finish(again, await workers());
    expect(await isInAgreement(changed)).toBe(true);
    const indexes = await rows("select indexname from pg_indexes where tablename = 'docs' and indexname like '%(b)'");
    expect(indexes).toEqual(after.map(() => ["docs(b)"]));
  });
}
