import { aColumn, aManifest, aTable } from "@appdb/testkit/manifest-builder";
import { openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { countRows, listRows } from "../queries/list-rows.ts";
import { parseRowOrder } from "../queries/row-order.ts";
import { type ReadableTable, readableTables } from "../views/view-tables.ts";
import { conditionSql } from "./condition-sql.ts";

let catalog: TestCatalog;
let table: ReadableTable;

beforeAll(async () => {
  catalog = await openTestCatalog();
  const columns = [
    aColumn("n", "int"),
    aColumn("score", "float", { nullable: true }),
    aColumn("title", "string", { nullable: true }),
    aColumn("meta", "json", { nullable: true }),
    aColumn("made", "timestamp", { nullable: true }),
  ];
  await catalog.apply(aManifest({ tables: [aTable("docs", columns)] }), { runtime_id: "r1" });
  await catalog.sql.query({
    text: `insert into docs (_row, n, score, title, meta, made, _errors) values
      (uuidv7(), 1, 0.5, 'apple', '{"tag": "a", "n": 3, "ok": true}', '2026-01-01T00:00:00Z', null),
      (uuidv7(), 2, 1.5, 'a%b', '{"tag": "b", "n": "3"}', '2026-02-01T00:00:00Z', null),
      (uuidv7(), 3, null, null, '{"tag": null}', null, '{"score": {"type": "ValueError", "message": "bad"}}'),
      (uuidv7(), 4, 2.5, 'Apple', null, '2026-03-01T00:00:00Z', null),
      (uuidv7(), 5, 1.5, 'x', '{"n": -1, "ok": false}', null, null)`,
  });
  const found = readableTables(await loadCatalog(catalog.sql))[0];
  if (found === undefined) throw new Error("The table is missing.");
  table = found;
});
afterAll(() => catalog[Symbol.asyncDispose]());

test.each([
  ["score > 0.5", [2, 4, 5]],
  ["not score > 0.5", [1]],
  ["score is null", [3]],
  ["n between 2 and 4 and score is not null", [2, 4]],
  ["n in (1, 3) or title = 'x'", [1, 3, 5]],
  ["n not in (1, 3)", [2, 4, 5]],
  ["n * 2 + 1 >= 9", [4, 5]],
  ["score = n", []],
  ["score < n", [1, 2, 4, 5]],
  ["title like 'a%'", [1, 2]],
  ["title like 'a\\%b'", [2]],
  ["title not like 'a%'", [4, 5]],
  ["meta.tag = 'a'", [1]],
  ["meta['tag'] in ('a', 'b')", [1, 2]],
  ["meta.n = 3", [1]],
  ["meta.n < 3", [5]],
  ["meta.ok", [1]],
  ["not meta.ok", [5]],
  ["meta.tag is null", [3, 4, 5]],
  ["meta.tag like '_'", [1, 2]],
  ["made > '2026-01-15'", [2, 4]],
  ["errortype(score) = 'ValueError'", [3]],
  ["errormsg(score) like '%ad'", [3]],
  ["true", [1, 2, 3, 4, 5]],
])("%s", async (text, expected) => {
  const where = conditionSql(table, text);
  const { rows } = await listRows(catalog.sql, table, { limit: 50, cursor: null, where });
  expect(rows.map((row) => JSON.parse(row).n).toReversed()).toEqual(expected);
  expect(await countRows(catalog.sql, table, where)).toBe(expected.length);
});

test("a value that cannot be computed names the condition", async () => {
  const where = conditionSql(table, "n / (n - 1) > 1");
  const refused = { code: "invalid_request", message: expect.stringContaining("division by zero") };
  await expect(countRows(catalog.sql, table, where)).rejects.toMatchObject(refused);
  await expect(listRows(catalog.sql, table, { limit: 9, cursor: null, where })).rejects.toMatchObject(refused);
});

test("a condition of thousands of values is computed", async () => {
  const listed = Array.from({ length: 1_500 }, (_, at) => at + 3).join(",");
  expect(await countRows(catalog.sql, table, conditionSql(table, `n in (${listed})`))).toBe(3);
});

async function pages(order: string, text: string | null, limit: number): Promise<number[]> {
  const input = { limit, where: conditionSql(table, text), order: parseRowOrder(table, order) };
  const numbers: number[] = [];
  let cursor: string | null = null;
  do {
    const { next, rows } = await listRows(catalog.sql, table, { ...input, cursor });
    numbers.push(...rows.map((row) => JSON.parse(row).n));
    cursor = next;
  } while (cursor !== null);
  return numbers;
}

test.each([1, 2, 3, 50])(
  "pages of %d rows follow an order, without a value last and the newest first",
  async (limit) => {
    expect(await pages("score", null, limit)).toEqual([1, 5, 2, 4, 3]);
    expect(await pages("score:desc", null, limit)).toEqual([4, 5, 2, 1, 3]);
    expect(await pages("Made:DESC", null, limit)).toEqual([4, 2, 1, 5, 3]);
    expect(await pages("title:asc", "n > 1", limit)).toEqual([4, 2, 5, 3]);
  },
);

test("a cursor belongs to its condition and order", async () => {
  const order = parseRowOrder(table, "n");
  const { next: cursor } = await listRows(catalog.sql, table, { limit: 1, cursor: null, order });
  const refused = { code: "invalid_cursor" };
  await expect(listRows(catalog.sql, table, { limit: 1, cursor })).rejects.toMatchObject(refused);
  const where = conditionSql(table, "n > 1");
  await expect(listRows(catalog.sql, table, { limit: 1, cursor, order, where })).rejects.toMatchObject(refused);
});

test("an order by a missing column or by Json is refused", () => {
  expect(() => parseRowOrder(table, "scores:desc")).toThrow('docs has no column "scores".');
  expect(() => parseRowOrder(table, "meta")).toThrow("values of the type Json | None have no order");
});

test("the error for a name in double quotes says how texts are written", () => {
  expect(() => conditionSql(table, 'title = "apple"')).toThrow(
    expect.objectContaining({ code: "column_not_found", hint: expect.stringMatching(/^A text has single quotes\. /) }),
  );
});
