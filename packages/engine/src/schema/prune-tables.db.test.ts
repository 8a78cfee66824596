import { docs, upperColumn, useJobsBench } from "@appdb/testkit/jobs-bench";
import { aColumn, aManifest, aTable } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { planPrune, pruneTables } from "./prune-tables.ts";

const { rows, catalog, apply, finish, insertDocs, deps, isInAgreement } = useJobsBench();
const KEPT = aTable("kept", [aColumn("n", "int")]);
const FILE = aManifest({ tables: [KEPT] });
const input = { manifest: FILE, target: "main" };

test("tables that the file does not declare are dropped with rows and queued work, the others are not touched", async () => {
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

test("when only work of an earlier update has ended since, that is what is told", async () => {
  await apply(docs());
  await insertDocs(3);
  const jobs = await apply(docs(upperColumn("up", "title")));
  const { version } = await catalog();
  await finish(jobs);
  await expect(pruneTables(deps(), { ...input, catalog_version: version })).rejects.toMatchObject({
    code: "catalog_moved",
    message: expect.stringContaining("Work that an earlier update had begun has ended. Nothing was dropped."),
  });
});

test("tables of other folders are not touched, and a prune of a catalog that moved drops nothing", async () => {
  await apply(docs());
  const { version } = await catalog();
  const elsewhere = { manifest: FILE, target: "main/reports" };
  expect((await planPrune(deps().sql, elsewhere, await catalog())).ops).toEqual([]);
  await expect(pruneTables(deps(), { ...input, catalog_version: version - 1 })).rejects.toMatchObject({
    code: "catalog_moved",
    message: expect.stringContaining("main/docs: the table was made"),
  });
  expect(await rows("select count(*) from docs")).toEqual([["0"]]);
});
