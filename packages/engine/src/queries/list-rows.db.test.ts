import { docs, useJobsBench } from "@appdb/testkit/jobs-bench";
import { aColumn, aManifest, aTable } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import type { CatalogTable } from "../catalog/catalog.ts";
import { readTableSizes } from "../catalog/table-sizes.ts";
import type { SqlConnection } from "../ports.ts";
import { countRows, findRow, findTable, listRows } from "./list-rows.ts";
import { writeQueryCursor } from "./query-cursor.ts";

const { apply, catalog, deps, execute, insertDocs } = useJobsBench();

async function table(): Promise<CatalogTable> {
  const { tables } = await catalog();
  return findTable(tables, { folder: "public", name: "docs", text: "cloud://acme:main/docs" });
}

async function numbers(of: CatalogTable, limit: number, cursor: string | null): Promise<[number[], string | null]> {
  const { rows, next } = await listRows(deps().sql, of, { limit, cursor });
  return [rows.map((row) => JSON.parse(row).n), next];
}

test("pages show newest rows first, and are stable under concurrent inserts", async () => {
  await apply(docs());
  await insertDocs(5);
  const of = await table();
  const [first, next] = await numbers(of, 2, null);
  await insertDocs(3);
  const [second, more] = await numbers(of, 2, next);
  const [third, last] = await numbers(of, 2, more);
  expect([first, second, third, last]).toEqual([[5, 4], [3, 2], [1], null]);
  await expect(listRows(deps().sql, { ...of, id: of.id + 1 }, { limit: 2, cursor: next })).rejects.toMatchObject({
    code: "invalid_cursor",
  });
});

test.each([
  { keys: ["zzz"] },
  { keys: [] },
  { keys: [null] },
  { keys: ["' or 1=1"] },
  { keys: ["00000000-0000-4000-8000-000000000000", "x"] },
])("a cursor that was forged with the keys $keys is refused", async ({ keys }) => {
  await apply(docs());
  const of = await table();
  const cursor = writeQueryCursor(`rows of ${of.id}`, 2, { keys, returned: 0 });
  await expect(listRows(deps().sql, of, { limit: 2, cursor })).rejects.toMatchObject({ code: "invalid_cursor" });
});

test("a page has the rows that fit into its bytes, by two statements", async () => {
  await apply(docs());
  await insertDocs(20);
  await execute({ text: "update docs set title = repeat('x', 100000)" });
  const of = await table();
  let statements = 0;
  const counted: SqlConnection = {
    query: (statement) => {
      statements += 1;
      return deps().sql.query(statement);
    },
  };
  const page = await listRows(counted, of, { limit: 1_000, cursor: null, page_bytes: 600_000 });
  expect([page.rows.length, statements]).toEqual([4, 2]);
  expect(page.next).not.toBe(null);
});

test("a page of long values has fewer rows, and the next continues after them", async () => {
  await apply(docs());
  await insertDocs(4);
  await execute({ text: "update docs set title = repeat('x', 9000000)" });
  const of = await table();
  const pages: number[][] = [];
  for (let cursor: string | null = null, isFirst = true; isFirst || cursor !== null; isFirst = false) {
    const [page, next] = await numbers(of, 10, cursor);
    pages.push(page);
    cursor = next;
  }
  expect(pages.flat()).toEqual([4, 3, 2, 1]);
  expect(pages.length).toBeGreaterThan(1);
});

test("row counts are exact for small tables and estimated above", async () => {
  await apply(docs());
  await insertDocs(12);
  const of = await table();
  const size = async () => (await readTableSizes(deps().sql, [of])).get(of.id);
  expect(await size()).toMatchObject({ rows: 12, is_estimated: false });
  await execute({
    text: "insert into docs (_row, n, title) select gen_random_uuid(), i, 'x' from generate_series(100, 20099) i",
  });
  // PostgreSQL's statistics follow within seconds.
  const counted = await size();
  expect([10_000, 20_000, 20_012]).toContain(counted?.rows);
  expect(counted?.is_estimated).toBe(true);
  await execute({ text: "analyze docs" });
  expect(await size()).toMatchObject({ rows: 20_012, is_estimated: true });
  await execute({ text: "drop table docs" });
  expect(await size()).toBeUndefined();
});

test("a missing table is reported with the nearest name, or the names of the others", async () => {
  await apply(docs());
  const { tables } = await catalog();
  const find = (name: string) => () => findTable(tables, { folder: "public", name, text: `main/${name}` });
  expect(find("doc")).toThrow(expect.objectContaining({ hint: "Did you mean main/docs?" }));
  expect(find("animals")).toThrow(expect.objectContaining({ hint: "There are the tables and views docs." }));
  const none = () => findTable([], { folder: "public", name: "docs", text: "main/docs" });
  expect(none).toThrow(expect.objectContaining({ hint: "Create it first: cli schema update <file> <target>" }));
});

test("a missing table is reported by its name for people", async () => {
  await apply(docs());
  await expect(async () =>
    findTable((await catalog()).tables, { folder: "public", name: "dogs", text: "cloud://acme:main/dogs" }),
  ).rejects.toMatchObject({
    code: "table_not_found",
    message: "Table cloud://acme:main/dogs does not exist.",
  });
});

test("a row is found by the texts of its key, and other keys are refused by name", async () => {
  const { sql } = deps();
  const prices = aTable("prices", [
    aColumn("country", "string", { primary_key: true }),
    aColumn("day", "date", { primary_key: true }),
    aColumn("cents", "int", { nullable: true }),
  ]);
  await apply(aManifest({ tables: [prices] }));
  await execute({
    text: `insert into prices (_row, country, day, cents) values (uuidv7(), 'it''s, "de"', '2026-01-02', 9007199254740993)`,
  });
  const { tables } = await catalog();
  const of = findTable(tables, { folder: "public", name: "prices", text: "main/prices" });
  const find = (...key: string[]) => findRow(sql, of, { key, text: "main/prices" });
  expect(await find(`it's, "de"`, "2026-01-02")).toBe(
    `{"country":"it's, \\"de\\"","day":"2026-01-02","cents":9007199254740993}`,
  );
  expect(await countRows(sql, of)).toBe(1);
  await expect(find("de", "2026-01-02")).rejects.toMatchObject({
    code: "row_not_found",
    hint: "List its rows: cli rows main/prices",
  });
  await expect(find("de")).rejects.toMatchObject({
    code: "invalid_request",
    message: "The key of main/prices is (country, day): 2 values, not 1.",
  });
  await expect(
    findRow(sql, { ...of, primary_key: ["day"] }, { key: ["1", "2"], text: "main/prices" }),
  ).rejects.toMatchObject({ message: "The key of main/prices is (day): 1 value, not 2." });
  await expect(find("de", "tomorrow")).rejects.toMatchObject({ message: expect.stringContaining("day: ") });
  await expect(findRow(sql, { ...of, primary_key: [] }, { key: ["1"], text: "main/prices" })).rejects.toMatchObject({
    message: "main/prices has no primary key, so no key names one of its rows.",
  });
});
