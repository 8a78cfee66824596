import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterEach, expect, test } from "vitest";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { conditionSql } from "../conditions/condition-sql.ts";
import { countRows, findRow, findTable, listRows, seenColumns } from "../queries/list-rows.ts";
import { parseRowOrder } from "../queries/row-order.ts";
import { type ReadableTable, readableTables, rowsSql } from "./view-tables.ts";

const appOf = (shown: string) => `
from typing import Iterator, TypedDict

import appdb as db
from appdb.serving import Router
from appdb.functions import upper

Base = db.model_base()

class Letter(TypedDict):
    letter: str

@db.iterator
def letters(text: str) -> Iterator[Letter]:
    for one in text:
        yield {"letter": one}

@db.udf
def checked(text: str) -> str:
    if "?" in text:
        raise ValueError("a question")
    return text

class Doc(Base, name="docs"):
    title: db.String
    id = db.Column(type=db.Int, primary_key=True)
    text: db.String
    good = checked(title)

class Part(Base, name="parts", base=Doc${shown}, iterator=letters(Doc.text)):
    loud = upper(letter)

class Late(Base, name="late", base=Part.where(Part.pos > 0)):
    pass

class Deep(Base, name="deep", base=Part, iterator=letters(Part.loud)):
    pass

api = Router(name="api")
api.add_insert_route(Doc, path="/add", on_error="ignore")
`;

let app: TestApplication | undefined;
afterEach(async () => {
  await app?.[Symbol.asyncDispose]();
  app = undefined;
});

async function open(shown = ""): Promise<TestApplication> {
  app = await openTestApplication(appOf(shown));
  return app;
}

async function named(opened: TestApplication, name: string): Promise<ReadableTable> {
  return findTable(readableTables(await loadCatalog(opened.sql)), { folder: "public", name, text: `main/${name}` });
}

async function all(opened: TestApplication, table: ReadableTable): Promise<unknown[]> {
  return (await listRows(opened.sql, table, { limit: 10, cursor: null })).rows.map((row) => JSON.parse(row));
}

test("rows of an iterator view begin with the key of their base, and end with its columns", async () => {
  const opened = await open();
  await opened.post("/add", [{ id: 7, title: "a", text: "xy" }]);
  const parts = await named(opened, "parts");
  expect(parts.primary_key).toEqual(["id", "pos"]);
  expect((await all(opened, parts)).map((row) => JSON.stringify(row))).toEqual([
    '{"id":7,"pos":1,"letter":"y","loud":"Y","title":"a","text":"xy","good":"a"}',
    '{"id":7,"pos":0,"letter":"x","loud":"X","title":"a","text":"xy","good":"a"}',
  ]);
  expect(seenColumns(parts).flatMap((column) => (column.primary_key ? column.name : []))).toEqual(["id", "pos"]);
  expect(JSON.parse(await findRow(opened.sql, parts, { key: ["7", "1"], text: "main/parts" }))).toMatchObject({
    letter: "y",
  });
  const where = conditionSql(parts, "title = 'a' and pos = 0");
  expect(await countRows(opened.sql, parts, where)).toBe(1);
});

test("pages of an iterator view are sorted by columns of its base", async () => {
  const opened = await open();
  await opened.post("/add", [
    { id: 1, title: "b", text: "uv" },
    { id: 2, title: "a", text: "xy" },
  ]);
  const parts = await named(opened, "parts");
  const order = parseRowOrder(parts, "title");
  const letters: string[] = [];
  for (let cursor: string | null = null, isFirst = true; isFirst || cursor !== null; isFirst = false) {
    const page = await listRows(opened.sql, parts, { limit: 1, cursor, order });
    letters.push(...page.rows.map((row) => JSON.parse(row).letter));
    cursor = page.next;
  }
  expect(letters.join("")).toBe("yxvu");
});

test("a filtered view over an iterator view shows the same columns", async () => {
  const opened = await open();
  await opened.post("/add", [{ id: 7, title: "a?", text: "xy" }]);
  const error = { type: "ValueError", message: "a question", function: expect.stringContaining("checked") };
  expect(await all(opened, await named(opened, "late"))).toEqual([
    { id: 7, pos: 1, letter: "y", loud: "Y", title: "a?", text: "xy", good: null, _errors: { good: error } },
  ]);
});

test("the key of rows of rows has the number of each level", async () => {
  const opened = await open();
  await opened.post("/add", [{ id: 7, title: "a", text: "xy" }]);
  const deep = await named(opened, "deep");
  expect(deep.primary_key).toEqual(["id", "parts.pos", "pos"]);
  const found = await findRow(opened.sql, deep, { key: ["7", "1", "0"], text: "main/deep" });
  expect(JSON.parse(found)).toMatchObject({ letter: "Y", loud: "Y", title: "a" });
});

test("columns that the base leaves out are not shown, and without the key there is none", async () => {
  const opened = await open(".select(Doc.title, Doc.text)");
  await opened.post("/add", [{ id: 7, title: "a", text: "x" }]);
  const parts = await named(opened, "parts");
  expect(parts.primary_key).toEqual([]);
  expect(await all(opened, parts)).toEqual([{ pos: 0, letter: "x", loud: "X", title: "a", text: "x" }]);
});

test("a changed choice of the base's columns is stored without other changes", async () => {
  const opened = await open();
  await opened.update(appOf(".select(Doc.id, Doc.text)"));
  expect(seenColumns(await named(opened, "parts")).map(({ name }) => name)).toEqual([
    "id",
    "pos",
    "letter",
    "loud",
    "text",
  ]);
});

test("a page of many rows reads only its own, and a count reads no base", async () => {
  const opened = await open();
  const docs = Array.from({ length: 200 }, (_, at) => ({ id: at, title: "a", text: "x".repeat(25) }));
  await opened.post("/add", docs);
  await opened.sql.query({ text: "analyze" });
  const parts = await named(opened, "parts");
  const explain = async (text: string) =>
    (await opened.sql.query({ text: `explain ${text}` })).rows.map(([line]) => line).join("\n");
  const page = await explain(`select * from ${rowsSql(parts)} order by "${parts.identity}" desc limit 11`);
  expect(page).toContain("Index Scan Backward");
  expect(page).not.toContain("Seq Scan");
  expect(await explain(`select count(*) from ${rowsSql(parts)}`)).not.toContain("docs");
});
