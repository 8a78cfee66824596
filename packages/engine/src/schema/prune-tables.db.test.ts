import { docs, upperColumn, useJobsBench } from "@appdb/testkit/jobs-bench";
import { aColumn, aManifest, aTable } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { planPrune, pruneTables } from "./prune-tables.ts";

const { rows, catalog, apply, finish, insertDocs, deps, isInAgreement } = useJobsBench();
const KEPT = aTable("kept", [aColumn("n", "int")]);
const FILE = aManifest({ tables: [KEPT] });
const input = { manifest: FILE, target: "main" };

test("undeclared tables are dropped with rows and queued work; others stay", async () => {
  await apply(aManifest({ tables: [...docs().tables, KEPT] }));
  await insertDocs(12);
  await apply(aManifest({ tables: [...docs(upperColumn("up", "title")).tables, KEPT] }));
  const before = await catalog();
  const planned = await planPrune(deps().sql, input, before);
  expect(planned).toMatchObject({
    extras: ["main/docs"],
    ops: [{ name: "main/docs", op: "drop", target: "table", destructive: true, details: { rows: 12 } }],
    summary: { destructive: 1 },
  });
  expect(await catalog()).toEqual(before);
  const done = await pruneTables(deps(), { ...input, catalog_version: before.version });
  expect(done).toMatchObject({ extras: [], status: "applied", ops: [{ name: "main/docs", status: "applied" }] });
  expect((await catalog()).tables.map((table) => table.name)).toEqual(["kept"]);
  expect(await rows("select to_regclass('docs')")).toEqual([[null]]);
  expect(await rows("select distinct state from appdb.jobs")).toEqual([["cancelled"]]);
  expect(await isInAgreement(FILE)).toBe(true);
  const again = await pruneTables(deps(), { ...input, catalog_version: done.catalog_version });
  expect(again.ops).toEqual([]);
});

test("if only a job has ended since the plan, the error says so", async () => {
  await apply(docs());
  await insertDocs(3);
  const jobs = await apply(docs(upperColumn("up", "title")));
  const { version } = await catalog();
  await finish(jobs);
  await expect(pruneTables(deps(), { ...input, catalog_version: version })).rejects.toMatchObject({
    code: "catalog_moved",
    message: expect.stringContaining("A job of an earlier update has ended. Nothing was dropped."),
  });
});

test("a prune leaves other folders alone and refuses an outdated plan", async () => {
  await apply(docs());
  const { version } = await catalog();
  const elsewhere = { manifest: FILE, target: "main/reports" };
  expect((await planPrune(deps().sql, elsewhere, await catalog())).ops).toEqual([]);
  await expect(pruneTables(deps(), { ...input, catalog_version: version - 1 })).rejects.toMatchObject({
    code: "catalog_moved",
    message: expect.stringContaining("main/docs: the table was created"),
  });
  expect(await rows("select count(*) from docs")).toEqual([["0"]]);
});
