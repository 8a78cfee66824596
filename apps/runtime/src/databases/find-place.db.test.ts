import { storeFolder } from "@appdb/engine/catalog/folders";
import { upperColumn } from "@appdb/testkit/jobs-bench";
import { aColumn, aManifest, aTable } from "@appdb/testkit/manifest-builder";
import { openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listJobsOf } from "./list-jobs-of.ts";
import { readHistory } from "./table-changes.ts";

const table = (name: string) => aTable(name, [aColumn("title", "string"), upperColumn("loud", "title")]);

let tested: TestCatalog;

beforeEach(async () => {
  tested = await openTestCatalog();
  const plain = [aTable("docs", [aColumn("title", "string")]), aTable("notes", [aColumn("title", "string")])];
  await tested.apply(aManifest({ tables: plain }));
  for (const name of ["docs", "notes"]) {
    await tested.sql.query({ text: `insert into ${name} (_row, title) values (uuidv7(), 'a')` });
  }
  await tested.apply(aManifest({ tables: [table("docs"), table("notes")] }));
  await storeFolder(tested.sql, "reports/old");
});
afterEach(async () => await tested[Symbol.asyncDispose]());

const source = () => ({ sql: tested.sql, uri: "main" });
const jobsOf = async (path: string) => {
  const jobs = await listJobsOf({ ...source(), path, all: true });
  return jobs.map(({ table: of }) => of).sort();
};

test("jobs are those of a database, of a table or of a folder", async () => {
  expect(await jobsOf("")).toEqual(["main/docs", "main/notes"]);
  expect(await jobsOf("docs")).toEqual(["main/docs"]);
  expect(await jobsOf("reports")).toEqual([]);
});

test("jobs of a table that does not exist are refused with the nearest name", async () => {
  await expect(jobsOf("dosc")).rejects.toMatchObject({
    code: "table_not_found",
    message: "Table main/dosc does not exist.",
    hint: "Did you mean main/docs?",
  });
});

test("the history of a table that never existed is refused, and that of a dropped one stays", async () => {
  const history = async (name: string) => (await readHistory(source(), { table: name, limit: 9 })).entries;
  await expect(history("nope")).rejects.toMatchObject({ code: "table_not_found" });
  expect(await history("reports")).toEqual([]);
  await tested.apply(aManifest({ tables: [table("docs")] }), { allow_destructive: true });
  expect((await history("notes")).length).toBeGreaterThan(0);
  await tested.sql.query({ text: "delete from appdb.changes" });
  expect(await history("docs")).toEqual([]);
});
