import { parseTarget } from "@appdb/contract/names";
import { loadCatalog } from "@appdb/engine/catalog/load-catalog";
import { startRecompute } from "@appdb/engine/jobs/plan-recompute";
import { changeTable } from "@appdb/engine/table-changes/change-table";
import { readableTables } from "@appdb/engine/views/view-tables";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterEach, expect, test } from "vitest";
import { findErrors } from "./cell-errors.ts";
import { tableIn } from "./data-handlers.ts";
import { describeTables } from "./data-tables.ts";
import { planTableRecompute } from "./recompute.ts";

const appWith = (bad: string) => `
from typing import Iterator, TypedDict

import appdb as db
from appdb.serving import Router

Base = db.model_base()

class Word(TypedDict):
    word: str

@db.iterator
def words(text: str) -> Iterator[Word]:
    for word in text.split():
        if word == "boom":
            raise ValueError("I was told to raise")
        yield {"word": word}

@db.udf
def loud(text: str) -> str:
    if text == "${bad}":
        raise KeyError(text)
    return text.upper()

class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    body: db.String

class Low(Base, name="low", base=Doc.where(Doc.id < 5)):
    big = loud(Doc.body)

class W(Base, name="words", base=Doc, iterator=words(Doc.body)):
    big = loud(word)

class Deep(Base, name="deep", base=W, iterator=words(W.word)):
    bigger = loud(word)

api = Router(name="api")
api.add_insert_route(Doc, path="/add", on_error="ignore")
`;

let tested: TestApplication;

afterEach(async () => {
  await tested?.[Symbol.asyncDispose]();
});

const open = async (text: string) => ({
  sql: tested.sql,
  name: text,
  target: parseTarget(text),
  hold: () => never(),
});

async function found(table?: string, target = "main") {
  return (await findErrors(open, { target, table, limit: 100 })).map(({ table: path, rows, counts, errors }) => ({
    path,
    rows,
    counts,
    cells: errors.map(({ key, column, errortype }) => [key, column, errortype]),
  }));
}

function never(): never {
  throw new Error("nothing is held");
}

test("errors of an iterator view are those of rows that were not made, and of rows by the base's key and their number", async () => {
  tested = await openTestApplication(appWith("bad"));
  const first = await tested.post("/add", { id: 5, body: "a boom" });
  expect(first.headers["x-cell-errors"]).toBe('words;type="ValueError"');
  const second = await tested.post("/add", { id: 6, body: "good bad" });
  expect(second.headers["x-cell-errors"]).toBe('words;type="KeyError"');
  expect(await found("words")).toEqual([
    {
      path: "main/words",
      rows: 2,
      counts: { big: 1, words: 1 },
      cells: [
        [{ id: 5 }, "words", "ValueError"],
        [{ id: 6, pos: 1 }, "big", "KeyError"],
      ],
    },
  ]);
  expect(await found("deep")).toMatchObject([{ cells: [[{ id: 6, "words.pos": 1, pos: 0 }, "bigger", "KeyError"]] }]);
  expect(await found("docs")).toMatchObject([
    { rows: 1, counts: { words: 1 }, cells: [[{ id: 5 }, "words", "ValueError"]] },
  ]);
  expect((await found()).map(({ path, counts }) => [path, counts])).toEqual([
    ["main/deep", { bigger: 1 }],
    ["main/docs", { words: 1 }],
    ["main/words", { big: 1 }],
  ]);
  const catalog = await loadCatalog(tested.sql);
  const described = await describeTables(tested.sql, catalog, readableTables(catalog));
  expect(described.map(({ path, errors }) => [path, errors])).toEqual([
    ["deep", 1],
    ["docs", 0],
    ["words", 2],
    ["low", 0],
  ]);
});

test("counts of a target include the tables in its folders", async () => {
  const tables = ["near", "inner", "outer"].map(
    (name) => `
class T_${name}(Base, name="${name}"):
    id = db.Column(type=db.Int, primary_key=True)
    body: db.String
    big = loud(body)

api.add_insert_route(T_${name}, path="/${name}", on_error="ignore")
`,
  );
  tested = await openTestApplication(appWith("bad") + tables.join(""));
  for (const name of ["near", "inner", "outer"]) await tested.post(`/${name}`, { id: 1, body: "bad" });
  await tested.post("/inner", { id: 2, body: "bad" });
  await move("inner", "far/below/inner");
  await move("outer", "far/outer");
  await move("near", "farther/near");
  const counted = async (table?: string, target?: string) =>
    (await found(table, target)).map(({ path, counts }) => [path, counts]);
  const below = ["main/far/below/inner", { big: 2 }];
  const outer = ["main/far/outer", { big: 1 }];
  expect(await counted()).toEqual([below, outer, ["main/farther/near", { big: 1 }]]);
  expect(await counted("far")).toEqual([below, outer]);
  expect(await counted(undefined, "main/far")).toEqual([below, outer]);
  expect(await counted("below", "main/far")).toEqual([below]);
  const all = { columns: [], cascade: true, on_error: "abort" as const, errors_only: false };
  await expect(planTableRecompute({ open }, { table: "main/far/below", ...all })).rejects.toMatchObject({
    message: "main/far/below is a folder, not a table.",
    hint: "List its tables: cli ls main/far/below",
  });
  await expect(tableIn({ sql: tested.sql, uri: "main" }, "far")).rejects.toMatchObject({
    message: "main/far is a folder, not a table.",
  });
});

async function move(table: string, to: string): Promise<void> {
  const deps = { sql: tested.sql, clock: { now: Date.now }, log: createSilentLog() };
  await changeTable(deps, {
    change: { change: "move_table", table, to },
    database: "main",
    functions: [],
    resource_pools: [],
    runtime_id: null,
    on_error: "abort",
    dry_run: false,
  });
}

test("a filtered view without failing cells has none, and unknown tables are answered with the views, too", async () => {
  tested = await openTestApplication(appWith("bad"));
  await tested.post("/add", { id: 5, body: "a boom" });
  expect(await found("low")).toEqual([{ path: "main/low", rows: 0, counts: {}, cells: [] }]);
  await tested.post("/add", { id: 1, body: "bad" });
  expect(await found("low")).toEqual([
    { path: "main/low", rows: 1, counts: { "low.big": 1 }, cells: [[{ id: 1 }, "low.big", "KeyError"]] },
  ]);
  await expect(found("nope")).rejects.toMatchObject({ hint: "There are: deep, docs, words, low" });
});

test("a failed job names the row by its key, of an iterator view by that of the base and its number", async () => {
  tested = await openTestApplication(appWith("none"));
  await tested.post("/add", { id: 7, body: "good bad" });
  const changed = appWith("bad").replace("loud(word)", 'loud(word) + "!"');
  await expect(tested.finish(await tested.update(changed))).rejects.toMatchObject({
    message: expect.stringContaining(
      "Column words.big: app:loud failed with KeyError: 'bad' (app.py:22) for the row id = 7, pos = 1; 0 of 2 rows",
    ),
    meta: { row: { id: "7", pos: "1" } },
  });
  const request = { folder: "public", table: "words", columns: [], cascade: true, errors_only: false } as const;
  const { job = "" } = await tested.sql.transaction((sql) => startRecompute(sql, { ...request, on_error: "abort" }));
  await expect(tested.finish([job])).rejects.toMatchObject({
    message: expect.stringMatching(/^View words: .*KeyError: 'bad' \(column big at pos 1\).* for the row id = 7; /),
  });
});

test("a condition that fails is an error of its view, whose row is stored and not in it", async () => {
  const view =
    "class Loud(Base, name=\"loud\", base=Doc.where(loud(Doc.body) == 'X')):\n    again = loud(Doc.body)\n\n";
  tested = await openTestApplication(appWith("bad").replace("class W(", `${view}class W(`));
  expect((await tested.post("/add", { id: 5, body: "bad" })).status).toBe(200);
  await tested.post("/add", { id: 6, body: "x" });
  const [loud] = await found("loud");
  expect(loud).toMatchObject({ path: "main/loud", rows: 1 });
  expect(loud?.cells).toContainEqual([{ id: 5 }, "loud", "KeyError"]);
  const catalog = await loadCatalog(tested.sql);
  const readable = readableTables(catalog).filter(({ name }) => name === "loud");
  const [described] = await describeTables(tested.sql, catalog, readable);
  expect([described?.rows, described?.errors]).toEqual([
    1,
    Object.values(loud?.counts ?? {}).reduce((a, b) => a + b, 0),
  ]);
});
