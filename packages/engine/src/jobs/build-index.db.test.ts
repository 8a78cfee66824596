import type { Manifest } from "@appdb/contract/manifest";
import { docs, upperColumn, useJobsBench } from "@appdb/testkit/jobs-bench";
import { anIndex } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";

const { execute, rows, catalog, apply, insertDocs, finish, isInAgreement } = useJobsBench();

test("an index on existing rows is built without blocking writers", async () => {
  await apply(docs());
  await insertDocs(2_000);
  const manifest = docs(upperColumn("up", "title"));
  const indexed: Manifest = {
    ...manifest,
    tables: manifest.tables.map((table) => ({ ...table, indexes: [anIndex(["up"]), anIndex(["n"], "by_n")] })),
  };
  const jobs = await apply(indexed);
  expect(jobs).toHaveLength(3);
  expect((await catalog()).tables[0]?.indexes.map((index) => index.state)).toEqual(["building", "building"]);
  await finish(jobs);
  expect((await catalog()).tables[0]?.indexes.map((index) => index.state)).toEqual(["ready", "ready"]);
  expect(
    await rows(
      "select c.relname, i.indisvalid from pg_index i join pg_class c on c.oid = i.indexrelid where c.relname like 'docs%' order by 1",
    ),
  ).toEqual([
    ["docs(up)", "t"],
    ["docs.errors", "t"],
    ["docs.idx.by_n", "t"],
    ["docs.pkey", "t"],
  ]);
  expect(await isInAgreement(indexed)).toBe(true);
});

test("an index that a killed runner left half built is rebuilt", async () => {
  await apply(docs());
  await insertDocs(100);
  const indexed = { ...docs(), tables: docs().tables.map((table) => ({ ...table, indexes: [anIndex(["n"])] })) };
  const jobs = await apply(indexed);
  await execute({ text: 'create index "docs(n)" on docs (n)' });
  await execute({ text: `update pg_index set indisvalid = false where indexrelid = '"docs(n)"'::regclass` });
  await finish(jobs);
  expect(await rows(`select indisvalid from pg_index where indexrelid = '"docs(n)"'::regclass`)).toEqual([["t"]]);
});

test("a new index's columns are analysed as soon as it is built", async () => {
  await apply(docs());
  await execute({ text: "alter table docs set (autovacuum_enabled = false)" });
  await insertDocs(2_000);
  await finish(
    await apply({ ...docs(), tables: docs().tables.map((table) => ({ ...table, indexes: [anIndex(["title"])] })) }),
  );
  expect(await rows("select count(*) > 0 from pg_stats where tablename = 'docs(title)'")).toEqual([["t"]]);
  const plan = await rows("explain select n from docs where left(title, 600) = 'title 7' and title = 'title 7'");
  expect(plan.flat().join("\n")).toContain('using "docs(title)"');
});
