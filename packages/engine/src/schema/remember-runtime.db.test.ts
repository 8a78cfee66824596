import { docs, excerptColumn, useJobsBench } from "@appdb/testkit/jobs-bench";
import { aColumn, aManifest, aTable } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";

const { rows, catalog, apply } = useJobsBench();

const others = aTable("others", [aColumn("title", "string")]);

test("an update without changes stores the Python of its tables only", async () => {
  await apply(aManifest({ tables: [...docs().tables, others] }));
  await apply(docs(), { target: "main/reports" });
  const { version } = await catalog();
  expect(await apply(docs(), { runtime_id: "runtime-2" })).toEqual([]);
  expect((await catalog()).version).toBe(version);
  expect(await rows("select folder, name, runtime_id from appdb.tables order by 1, 2")).toEqual([
    ["public", "docs", "runtime-2"],
    ["public", "others", "runtime-1"],
    ["reports", "docs", "runtime-1"],
  ]);
});

test("an update of one table stores the Python of all tables of its file", async () => {
  await apply(aManifest({ tables: [...docs().tables, others] }));
  const { functions, tables } = docs(excerptColumn());
  await apply(aManifest({ functions, tables: [...tables, others] }), { runtime_id: "runtime-2" });
  expect(await rows("select name, runtime_id from appdb.tables order by 1")).toEqual([
    ["docs", "runtime-2"],
    ["others", "runtime-2"],
  ]);
});
