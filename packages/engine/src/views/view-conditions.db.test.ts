import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterEach, expect, test } from "vitest";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { declaredTables } from "../table-changes/declared-tables.ts";
import { readableTables, rowsSql } from "./view-tables.ts";

const LOUD = "loud = Book.title.upper()";

const appWith = (columns: readonly string[], condition: string, own = "pass") => `
import appdb as db
from appdb.serving import Router

Base = db.model_base()

@db.udf
def length(text: str) -> int:
    if text == "t1900":
        raise ValueError("too long")
    return 1 + len(text)

@db.udf
def other(text: str) -> int:
    return 1899

class Other(Base, name="others"):
    n: db.Int

class Book(Base, name="books"):
    title: db.String
    ${columns.join("\n    ")}

class Old(Base, name="old", base=Book.where(${condition})):
    ${own}

api = Router(name="api")
api.add_insert_route(Book, path="/add")
`;

const BORN = "born: db.Int";
const YEAR = "year: db.Int | None";
const first = (own?: string) => appWith([BORN], "Book.born < 1900", own);

let tested: TestApplication;

afterEach(async () => {
  await tested?.[Symbol.asyncDispose]();
});

/** Four books, of which two are old. */
async function open(app: string): Promise<void> {
  tested = await openTestApplication(app);
  const books = [1898, 1899, 1900, 1901].map((born) => ({ title: `t${born}`, born }));
  const { status, text } = await tested.post("/add", books);
  expect(status, text).toBe(200);
}

async function titles(): Promise<unknown> {
  const view = readableTables(await loadCatalog(tested.sql)).find(({ name }) => name === "old");
  if (view === undefined) throw new Error("The view is gone.");
  return (await tested.sql.query({ text: `select title from ${rowsSql(view)} order by title` })).rows.flat();
}

const filterOf = async () => (await loadCatalog(tested.sql)).views.map(({ definition }) => definition.filter);

test.each([
  ["a stored one", [YEAR], LOUD],
  ["a stored one, and another column is filled", [YEAR, "low = title.lower()"], LOUD],
  ["a computed one", ["year = title.len()"], LOUD],
  ["a computed one, and the view has no column", ["year = title.len()"], "pass"],
])(
  "a column is not dropped with the update that replaces it in a view's condition by %s",
  async (_by, columns, own) => {
    await open(first(own));
    const next = appWith(columns, "Book.year < 1900", own);
    const planned = (await tested.diff(next)).tables.find(({ path }) => path === "main/books");
    expect(planned?.resolution).toBe("unsupported");
    await expect(tested.update(next)).rejects.toMatchObject({
      code: "schema_unsupported",
      message: expect.stringContaining(
        "column 'born' cannot be dropped in this update: the condition of the view 'old' reads it until the update's job has ended. Declare the column again, update, and drop it in the next update",
      ),
    });
    expect(await titles()).toEqual(["t1898", "t1899"]);

    await tested.finish(await tested.update(appWith([BORN, ...columns], "Book.year < 1900", own)));
    expect(await filterOf()).toEqual(["year < 1900"]);
    await tested.finish(await tested.update(next));
    expect((await tested.diff(next)).in_agreement).toBe(true);
  },
);

test("a column goes at once with a condition that needs no job", async () => {
  await open(first());
  const next = appWith([YEAR], "Book.year < 1900");
  expect(await tested.update(next)).toEqual([]);
  expect(await filterOf()).toEqual(["year < 1900"]);
});

test("a view has its previous condition until the column of the next one is filled, and after a failed fill", async () => {
  await open(first());
  const failing = await tested.update(appWith([BORN, "year = length(title)"], "Book.year < 1900"));
  expect(await titles()).toEqual(["t1898", "t1899"]);
  await expect(tested.finish(failing)).rejects.toMatchObject({ code: "fill_failed" });
  expect(await filterOf()).toEqual(["born < 1900"]);
  expect(await titles()).toEqual(["t1898", "t1899"]);
  expect((await tested.diff(first())).in_agreement).toBe(true);

  const next = appWith([BORN, "year = other(title)"], "Book.year < 1900");
  await tested.finish(await tested.update(next));
  expect(await titles()).toEqual(["t1898", "t1899", "t1900", "t1901"]);
  expect((await tested.diff(next)).in_agreement).toBe(true);
});

test("an update whose new column goes with a failed earlier job ends whole, and the table can be updated", async () => {
  await open(first(LOUD));
  const failing = await tested.update(appWith([BORN, "extra = length(title)"], "Book.born < 1900", LOUD));
  const later = await tested.update(appWith([BORN, "extra = length(title) + 1"], "Book.born < 1901", LOUD));
  await expect(tested.finish(failing)).rejects.toMatchObject({ code: "fill_failed" });
  await expect(tested.finish(later)).rejects.toMatchObject({
    message: expect.stringContaining("A column that it reads was dropped"),
  });
  expect(await filterOf()).toEqual(["born < 1900"]);
  expect((await tested.diff(first(LOUD))).in_agreement).toBe(true);

  const next = appWith([BORN, "extra = other(title)"], "Book.born < 1901", LOUD);
  await tested.finish(await tested.update(next));
  expect(await filterOf()).toEqual(["born < 1901"]);
  expect((await tested.diff(next)).in_agreement).toBe(true);
});

test("a fill that reads a column which is not there fails, and does not stay in the queue", async () => {
  await open(first());
  const jobs = await tested.update(appWith([BORN, "low = title.lower()"], "Book.born < 1900"));
  await tested.sql.query({ text: "alter table books drop column title" });
  await expect(tested.finish(jobs)).rejects.toMatchObject({
    code: "fill_failed",
    message: expect.stringContaining("given up after 4 attempts"),
  });
});

test("a view whose column is gone leaves others as they are, and an update makes it again", async () => {
  await open(first(LOUD));
  await tested.sql.query({ text: "alter table books drop column born" });
  await tested.sql.query({ text: "delete from appdb.columns where name = 'born'" });
  const all = declaredTables(await loadCatalog(tested.sql), "public", new Set(["books", "others"]), []);
  expect(all.map(({ name }) => name)).toEqual(["books", "others"]);
  expect(await titles()).toEqual([]);

  const next = appWith([YEAR], "Book.title < 't19'", LOUD);
  await tested.finish(await tested.update(next));
  expect(await titles()).toEqual(["t1898", "t1899"]);
  expect((await tested.diff(next)).in_agreement).toBe(true);
});
