import { openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { afterAll, beforeAll, expect, test } from "vitest";

let catalog: TestCatalog;
beforeAll(async () => {
  catalog = await openTestCatalog();
});
afterAll(async () => {
  await catalog?.[Symbol.asyncDispose]();
});

/** The plan of an aggregate over a table that PostgreSQL would read in parallel. */
async function planOf(aggregate: string): Promise<string> {
  return await catalog.sql.transaction(async (connection) => {
    for (const text of [
      "create table numbers as select random() as x from generate_series(1, 20000)",
      "set local parallel_setup_cost = 0",
      "set local parallel_tuple_cost = 0",
      "set local min_parallel_table_scan_size = 0",
      "set local max_parallel_workers_per_gather = 2",
    ]) {
      await connection.query({ text });
    }
    const { rows } = await connection.query({ text: `explain (verbose, costs off) select ${aggregate} from numbers` });
    await connection.query({ text: "drop table numbers" });
    return rows.map(([line]) => line).join("\n");
  });
}

test("a sum of Floats runs in one process, in table order", async () => {
  expect(await planOf("sum(x)")).toContain("Gather");
  const plan = await planOf("sum(appdb.in_order(x))");
  expect(plan).not.toContain("Gather");
  // Inlined by the planner, so a row costs no more than before.
  expect(plan).toContain("sum(numbers.x)".replace("numbers.", ""));
  expect(plan).not.toContain("in_order");
});
