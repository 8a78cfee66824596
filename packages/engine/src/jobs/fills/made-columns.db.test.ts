import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterEach, expect, test } from "vitest";
import { listJobs } from "../../background/list-jobs.ts";
import { startRecompute } from "../plan-recompute.ts";

const appWith = ({ bad = "none", mark = "!", part = "text.split()" } = {}) => `
from typing import Iterator, TypedDict

import appdb as db
from appdb.serving import Router

Base = db.model_base()

class Word(TypedDict):
    word: str

def spoken(text: str) -> str:
    return text + "${mark}"

@db.iterator
def words(text: str) -> Iterator[Word]:
    for word in ${part}:
        yield {"word": word}

@db.udf
def loud(text: str) -> str:
    if text == "${bad}":
        raise KeyError(text)
    return spoken(text.upper())

class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    body: db.String

class W(Base, name="words", base=Doc, iterator=words(Doc.body)):
    big = loud(word)

class Deep(Base, name="deep", base=W, iterator=words(W.word)):
    bigger = loud(word)

@db.query
def all_words():
    return W.order_by(W.pos).select(W.word, W.big)

api = Router(name="api")
api.add_insert_route(Doc, path="/add", on_error="ignore")
api.add_query_route(path="/words", query=all_words)
`;

let tested: TestApplication;

afterEach(async () => {
  await tested?.[Symbol.asyncDispose]();
});

const rows = async (text: string) => (await tested.sql.query({ text })).rows;

async function recompute(table: string, columns: readonly string[], errorsOnly = false): Promise<void> {
  const request = { folder: "public", table, columns, cascade: true, errors_only: errorsOnly };
  const { job = "" } = await tested.sql.transaction((sql) =>
    startRecompute(sql, { ...request, on_error: errorsOnly ? "ignore" : "abort" }),
  );
  await tested.finish([job]);
}

const stale = async (app: string) =>
  (await tested.diff(app)).stale.map(({ table, column, command }) => [table, column, command]);

test("changed code of a view is one line with a command that mends it", async () => {
  tested = await openTestApplication(appWith());
  await tested.post("/add", { id: 1, body: "a b" });
  const louder = appWith({ mark: "!!" });
  expect(await stale(louder)).toEqual([
    ["main/words", "big", "cli recompute main/words big"],
    ["main/deep", "bigger", "cli recompute main/deep bigger"],
  ]);
  await tested.finish(await tested.update(louder));
  await recompute("words", ["big"]);
  expect(await rows("select word, big from words order by pos")).toEqual([
    ["a", "A!!"],
    ["b", "B!!"],
  ]);
  expect(await stale(louder)).toEqual([["main/deep", "bigger", "cli recompute main/deep bigger"]]);
  await recompute("words", []);
  expect(await stale(louder)).toEqual([]);
  const other = appWith({ mark: "!!", part: "text.split()[:1]" });
  expect(await stale(other)).toEqual([
    ["main/words", null, "cli recompute main/words"],
    ["main/deep", null, "cli recompute main/deep"],
  ]);
  await tested.finish(await tested.update(other));
  await recompute("words", []);
  expect(await rows("select word, big from words order by pos")).toEqual([["a", "A!!"]]);
  expect(await stale(other)).toEqual([]);
});

test("a mended cell of made rows is also mended in the rows that made them", async () => {
  tested = await openTestApplication(appWith({ bad: "b" }));
  for (const [id, body] of ["a b", "b"].entries()) await tested.post("/add", { id, body });
  expect(await rows("select count(*) from docs where _errors is not null")).toEqual([["2"]]);
  await tested.finish(await tested.update(appWith()));
  await recompute("words", ["big"], true);
  expect(await rows("select word, big, _errors is null from words order by _row")).toEqual([
    ["a", "A!", "t"],
    ["b", "B!", "f"],
    ["b", "B!", "f"],
  ]);
  expect(await rows("select count(*) from docs where _errors is not null")).toEqual([["2"]]);
  await recompute("deep", ["bigger"], true);
  expect(await rows("select _errors from words union all select _errors from docs")).toEqual(Array(5).fill([null]));
});

test("jobs show views by their names, and no more rows than there are", async () => {
  tested = await openTestApplication(appWith());
  await tested.post("/add", { id: 1, body: "a b" });
  const request = { folder: "public", table: "words", columns: [], cascade: true, errors_only: false } as const;
  const { job = "" } = await tested.sql.transaction((sql) => startRecompute(sql, { ...request, on_error: "abort" }));
  // As if the row had been inserted after the count.
  await tested.sql.query({ text: "update appdb.jobs set rows_total = 0" });
  await tested.finish([job]);
  expect(await listJobs(tested.sql, { database: "main", folder: null, all: true })).toMatchObject([
    { table: "main/docs", columns: ["words"], rows_done: 1, rows_total: 1 },
  ]);
});
