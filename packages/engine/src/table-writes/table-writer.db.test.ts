import type { Expr } from "@appdb/contract/expressions";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { conditionSql } from "../conditions/condition-sql.ts";
import { readableTables } from "../views/view-tables.ts";

const APP = `
from typing import Iterator, TypedDict

import appdb as db
from appdb.functions import upper

Base = db.model_base()

class Part(TypedDict):
    word: str

@db.iterator
def parts(text: str) -> Iterator[Part]:
    for word in text.split():
        yield {"word": word}

@db.udf
def shouted(text: str) -> str:
    if text == "bad":
        raise ValueError("bad text")
    return text.upper() + "!"

class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
    score: db.Float | None
    meta: db.Json | None
    loud = shouted(title)
    big = upper(title)

class Word(Base, name="words", base=Doc, iterator=parts(Doc.title)):
    pass

class Note(Base, name="notes"):
    text: db.String
    big = upper(text)
`;

let tested: TestApplication;
beforeAll(async () => {
  tested = await openTestApplication(APP);
});
afterAll(() => tested[Symbol.asyncDispose]());

const { signal } = new AbortController();
const TITLES = ["one two", "three", "bad apple", "four"];

beforeEach(async () => {
  await tested.sql.query({ text: "delete from docs; delete from notes" });
  const rows = TITLES.map((title, at) => JSON.stringify({ id: at + 1, title, score: at / 2, meta: { tag: `t${at}` } }));
  await writer().update({ rows, if_not_exists: "insert", on_error: "abort" }, signal);
});

const writer = (table = "docs") => tested.endpoints.writer(table);
const table = async (name = "docs") => {
  const found = readableTables(await loadCatalog(tested.sql)).find((one) => one.name === name);
  if (found === undefined) throw new Error(`There is no table ${name}.`);
  return found;
};
const where = async (text: string | Expr | null) => conditionSql(await table(), text);
const read = async (sql: string) => (await tested.sql.query({ text: sql })).rows;
const docs = (columns = "id, title, loud, big, score") => read(`select ${columns} from docs order by id`);
const words = async () => (await read('select word from words order by word collate "C"')).flat().join(" ");
const keyed = (...rows: object[]) => rows.map((row) => JSON.stringify(row));
const updating = (rows: readonly string[], more: { if_not_exists?: "ignore" | "insert"; on_error?: "ignore" } = {}) =>
  writer().update({ rows, if_not_exists: more.if_not_exists ?? "error", on_error: more.on_error ?? "abort" }, signal);

const int = { kind: "int" } as const;
const float = { kind: "float" } as const;
const string = { kind: "string" } as const;
const literal = (value: string | number | null, type: Expr["type"]): Expr => ({
  node: "literal",
  value,
  type,
  nullable: value === null,
});
const score: Expr = { node: "column", name: "score", type: float, nullable: true };
const call = (fn: string, args: Expr[], type: Expr["type"]): Expr => ({
  node: "call",
  fn,
  args,
  kwargs: {},
  type,
  nullable: true,
});

describe("an update by keys", () => {
  test("computes dependent columns, in Python and SQL, and rows of views", async () => {
    const done = await updating(keyed({ id: 1, title: "new words here" }, { id: 2, score: null }));
    expect(done).toEqual({ inserted: 0, updated: 2, deleted: 0, errors: 0 });
    expect((await docs()).slice(0, 2)).toEqual([
      ["1", "new words here", "NEW WORDS HERE!", "NEW WORDS HERE", "0"],
      ["2", "three", "THREE!", "THREE", null],
    ]);
    expect(await words()).toBe("apple bad four here new three words");
  });

  test("changes nothing when a row has an error", async () => {
    const before = await docs();
    await expect(updating(keyed({ id: 1, title: "x" }, { id: 9, title: "y" }))).rejects.toMatchObject({
      code: "row_not_found",
      message: "[1]: docs has no row with (id) = (9). Nothing was changed.",
      errors: [{ pointer: "/rows/1" }],
    });
    await expect(updating(keyed({ id: 1, title: "x" }, { id: 2, title: "bad" }))).rejects.toMatchObject({
      code: "function_failed",
      meta: { row: 1 },
    });
    expect(await docs()).toEqual(before);
  });

  test("names the rows and columns of wrong values, the first twenty", async () => {
    await expect(updating(keyed({ id: 1 }, { id: "x", title: "y" }))).rejects.toMatchObject({
      code: "invalid_request",
      errors: [{ pointer: "/rows/1/id", detail: expect.stringMatching(/^\[1\]: id: Expected an integer/) }],
    });
    const many = Array.from({ length: 50 }, (_, at) => ({ id: at, score: "high" }));
    const error: { errors: object[] } = await updating(keyed(...many)).then(
      () => expect.unreachable(),
      (reason) => reason,
    );
    expect(error.errors).toHaveLength(20);
  });

  test("ignores or inserts missing rows", async () => {
    const rows = keyed({ id: 1, title: "first" }, { id: 9, title: "ninth" });
    expect(await updating(rows, { if_not_exists: "ignore" })).toMatchObject({ updated: 1, inserted: 0 });
    expect(await updating(rows, { if_not_exists: "insert" })).toMatchObject({ updated: 1, inserted: 1 });
    expect((await docs()).at(-1)).toEqual(["9", "ninth", "NINTH!", "NINTH", null]);
    await expect(updating(keyed({ id: 10 }), { if_not_exists: "insert" })).rejects.toMatchObject({
      errors: [{ pointer: "/rows/0/title", detail: expect.stringContaining("required") }],
    });
  });

  test("counts failed cells that it ignores", async () => {
    expect(await updating(keyed({ id: 1, title: "bad" }), { on_error: "ignore" })).toMatchObject({ errors: 1 });
    expect((await docs("loud, big"))[0]).toEqual([null, "BAD"]);
  });

  test("keeps all digits and takes 3,000 rows", async () => {
    const rows = Array.from({ length: 3_000 }, (_, at) => `{"id": 90071992547409${100 + at}1, "title": "t${at}"}`);
    expect(await updating(rows, { if_not_exists: "insert" })).toMatchObject({ inserted: 3_000 });
    expect(await updating(rows)).toMatchObject({ updated: 3_000 });
  });
});

describe("an update by a condition", () => {
  const updateWhere = async (condition: string | null, set: Record<string, Expr>, name = "docs") =>
    writer(name).updateWhere(
      { table: await table(name), where: await where(condition), set, on_error: "abort" },
      signal,
    );

  test("sets constants and expressions over the row", async () => {
    const set = { score: call("op.mul", [score, literal(2, float)], float), title: literal("same", string) };
    expect(await updateWhere("score >= 1", set)).toMatchObject({ updated: 2 });
    expect(await docs()).toEqual([
      ["1", "one two", "ONE TWO!", "ONE TWO", "0"],
      ["2", "three", "THREE!", "THREE", "0.5"],
      ["3", "same", "SAME!", "SAME", "2"],
      ["4", "same", "SAME!", "SAME", "3"],
    ]);
    expect(await read("select count(*) from words where word = 'same'")).toEqual([["2"]]);
  });

  test("is all or nothing", async () => {
    const before = await docs();
    await expect(updateWhere(null, { title: literal("bad", string) })).rejects.toMatchObject({
      code: "function_failed",
    });
    expect(await docs()).toEqual(before);
  });

  test("changes tables without a key", async () => {
    await tested.sql.query({ text: "insert into notes (_row, text, big) values (uuidv7(), 'a', 'A')" });
    expect(await updateWhere(null, { text: literal("b", string) }, "notes")).toMatchObject({ updated: 1 });
    expect(await read("select text, big from notes")).toEqual([["b", "B"]]);
  });

  test.each([
    [{ id: literal("5", int) }, "docs.id cannot be changed: the primary key has it"],
    [{ loud: literal("x", string) }, "its value is computed: shouted(title)"],
    [{ titel: literal("x", string) }, 'docs has no column "titel".'],
    [{ score: literal("x", string) }, "score: Expected"],
    [{ title: literal(null, string) }, "must not be null"],
    [{ title: score }, "docs.title has the type String; its new value has the type Float | None."],
    [{ score: call("op.truediv", [score, literal(0, float)], float) }, "division by zero"],
  ])("refuses %j", async (set, message) => {
    await expect(updateWhere(null, set as Record<string, Expr>)).rejects.toThrow(message);
  });
});

describe("a delete", () => {
  test("by keys counts existing rows, and deletes the rows of views", async () => {
    expect(await writer().delete(["[1]", "[9]", "[1]"], signal)).toMatchObject({ deleted: 1 });
    expect(await read("select count(*) from docs")).toEqual([["3"]]);
    expect(await words()).toBe("apple bad four three");
  });

  test("by keys names wrong ones", async () => {
    await expect(writer().delete(["[1]", '["x"]', "[1, 2]"], signal)).rejects.toMatchObject({
      code: "invalid_request",
      errors: [
        { pointer: "/keys/1/id", detail: expect.stringContaining("[1]: id: Expected an integer") },
        { pointer: "/keys/2", detail: expect.stringContaining("Expected a value for each of id, got 2 values.") },
      ],
    });
    await expect(writer("notes").delete(["[1]"], signal)).rejects.toThrow("notes has no primary key");
  });

  test("by a condition deletes its rows, null all", async () => {
    expect(await writer().deleteWhere(await where("meta.tag in ('t0', 't3')"), signal)).toMatchObject({ deleted: 2 });
    expect(await docs("id")).toEqual([["2"], ["3"]]);
    expect(await writer().deleteWhere(undefined, signal)).toMatchObject({ deleted: 2 });
  });

  test("of a caller who has left deletes nothing", async () => {
    const gone = AbortSignal.abort();
    await expect(writer().deleteWhere(undefined, gone)).rejects.toThrow();
    expect(await docs("id")).toHaveLength(4);
  });
});
