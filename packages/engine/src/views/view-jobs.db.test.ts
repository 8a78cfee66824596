import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterEach, expect, test } from "vitest";
import { ignoreErrorsOfJobs } from "../catalog/catalog-store.ts";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { listErrors } from "../compute/list-errors.ts";
import { startRecompute } from "../jobs/plan-recompute.ts";

const NOTE = `
class Note(Base, name="notes", base=Doc.where(Doc.low.contains("note"))):
    loud = shouted(Doc.body)
    __indexes__ = [db.BtreeIndex(loud, name="by_loud")]
`;
const OVER = `
class Long(Base, name="long", base=W.where(W.pos > 0)):
    twice = W.word + W.word
`;
const W = `
class W(Base, name="words", base=Doc, iterator=parts(Doc.low)):
    big = shouted(word)
`;

const appWith = (views: string, { bad = "never", docs = true }: { bad?: string; docs?: boolean } = {}) => `
from typing import Iterator, TypedDict

import appdb as db
from appdb.serving import Router

Base = db.model_base()

class Part(TypedDict):
    word: str

@db.iterator
def parts(text: str) -> Iterator[Part]:
    for word in text.split():
        if word == "${bad}":
            raise ValueError("bad word")
        yield {"word": word}

@db.udf
def lowered(text: str) -> str:
    if text == "${bad}":
        raise ValueError("bad text")
    return text.lower()

@db.udf
def shouted(text: str) -> str:
    if text == "${bad}":
        raise ValueError("bad text")
    return text.upper() + "!"

class Kept(Base, name="kept"):
    n: db.Int
${
  docs
    ? `
class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    body: db.String
    low = lowered(Doc_body)
${views}
`.replace("Doc_body", "body")
    : ""
}
api = Router(name="api")
${docs ? 'api.add_insert_route(Doc, path="/add", on_error="ignore")' : ""}
`;

let tested: TestApplication;

afterEach(async () => {
  await tested?.[Symbol.asyncDispose]();
});

async function add(...bodies: string[]): Promise<void> {
  const rows = bodies.map((body, id) => ({ id, body }));
  const { status, text } = await tested.post("/add", rows);
  expect(status, text).toBe(200);
}

const rows = async (text: string) => (await tested.sql.query({ text })).rows;

const hidden = async () =>
  (
    await rows(`select attname from pg_attribute where attrelid = to_regclass('docs') and attname like '%.%'
      and not attisdropped order by attname`)
  ).flat();
const leftovers = () =>
  rows(`select proname::text from pg_proc where proname like 'rows of%' or proname like 'deleted of%'
    union all select name from appdb.views union all select name from appdb.tables where name <> 'kept' order by 1`);

test("a prune drops views with their columns, triggers and tables, and leaves their base", async () => {
  tested = await openTestApplication(appWith(NOTE + W + OVER));
  await add("a note", "b c");
  expect(await hidden()).toEqual(["notes.(rows)", "notes.loud", "words.(rows)"]);
  expect(await tested.prune(appWith(W + OVER))).toEqual(["main/notes"]);
  expect(await hidden()).toEqual(["words.(rows)"]);
  expect(await rows("select count(*) from words")).toEqual([["4"]]);
  expect(await tested.prune(appWith(W))).toEqual(["main/long"]);
  await tested.post("/add", { id: 9, body: "x y" });
  expect(await tested.prune(appWith(""))).toEqual(["main/words"]);
  expect(await hidden()).toEqual([]);
  expect(await leftovers()).toEqual([["docs"]]);
  expect((await tested.diff(appWith(""))).in_agreement).toBe(true);
  await tested.sql.query({ text: "delete from docs" });
});

test("a prune of a table drops all its views, and those of its views", async () => {
  tested = await openTestApplication(appWith(NOTE + W + OVER));
  await add("a note", "b c");
  const pruned = await tested.prune(appWith("", { docs: false }));
  expect([...pruned].sort()).toEqual(["main/docs", "main/long", "main/notes", "main/words"]);
  expect(await leftovers()).toEqual([]);
  expect((await tested.diff(appWith("", { docs: false }))).in_agreement).toBe(true);
});

test("a recompute that fails restores the column that an iterator view reads", async () => {
  tested = await openTestApplication(appWith(NOTE + W));
  await add("A note", "B C", "D note");
  const failing = appWith(NOTE + W, { bad: "D note" });
  const before = await rows(`select id, low, "notes.loud", "words.(rows)"::text from docs order by id`);
  const jobs = await tested.update(failing);
  const request = { folder: "public", table: "docs", columns: ["low"], cascade: true, errors_only: false } as const;
  const { job = "" } = await tested.sql.transaction((connection) =>
    startRecompute(connection, { ...request, on_error: "abort" }),
  );
  await expect(tested.finish([...jobs, job])).rejects.toMatchObject({ code: "recompute_failed" });
  expect(await rows(`select id, low, "notes.loud", "words.(rows)"::text from docs order by id`)).toEqual(before);
  expect(await rows("select w.word from words w join docs d on d._row = w._base_row order by d.id, w.pos")).toEqual(
    ["a", "note", "b", "c", "d", "note"].map((word) => [word]),
  );
  expect(await rows("select count(*) from docs where _errors is not null")).toEqual([["0"]]);
});

test.each(["failed", "cancelled"] as const)(
  "a fill of a new iterator view that is %s leaves no rows of it",
  async (how) => {
    tested = await openTestApplication(appWith(""));
    await add("a note", "b c", "last");
    const views =
      W + OVER.replace("base=W.where(W.pos > 0)", "base=W, iterator=parts(W.big)").replaceAll("W.word", "word");
    const jobs = await tested.update(appWith(views, { bad: how === "failed" ? "last" : "never" }));
    // A newer service has written rows before the job ends.
    await rows(
      `update docs set "words.(rows)" = '{"rows":1,"given":{"word":["x"]},"computed":{"big":["X!"]},"errors":{}}' where id = 0`,
    );
    if (how === "cancelled") await rows("update appdb.jobs set is_cancelled = true");
    await expect(tested.finish(jobs)).rejects.toMatchObject({
      code: how === "failed" ? "fill_failed" : "job_cancelled",
      message: expect.stringMatching(/[Tt]he view words has no rows\.$/),
    });
    expect(await hidden()).toEqual([]);
    expect(await rows("select (select count(*) from words), (select count(*) from long)")).toEqual([["0", "0"]]);
    expect(await rows("select proname from pg_proc where proname like 'rows of%'")).toHaveLength(1);
    expect((await tested.post("/add", { id: 9, body: "after it" })).status).toBe(200);
    // Other changes of the table do not need the view.
    await tested.finish(await tested.update(appWith(NOTE)));
    await tested.finish(await tested.update(appWith(views)));
    expect((await tested.diff(appWith(views))).in_agreement).toBe(true);
    expect(await rows("select word from words order by word")).toEqual(
      ["a", "after", "b", "c", "it", "last", "note"].map((word) => [word]),
    );
    expect(await rows("select count(*) from long")).toEqual([["7"]]);
  },
);

test("a fill that ignores errors keeps other rows, and lists the errors by the view's columns", async () => {
  tested = await openTestApplication(appWith(""));
  await add("A note", "bad", "so bad");
  const views = appWith(NOTE.replace('Doc.low.contains("note")', "Doc.id < 2") + W, { bad: "bad" });
  const jobs = await tested.update(views);
  await ignoreErrorsOfJobs(tested.sql, jobs);
  await tested.finish(jobs);
  expect(await rows(`select id, "notes.loud" from docs order by id`)).toEqual([
    ["0", "A NOTE!"],
    ["1", null],
    ["2", null],
  ]);
  expect(await rows("select word, big from words order by word")).toEqual([
    ["a", "A!"],
    ["note", "NOTE!"],
  ]);
  const { tables } = await loadCatalog(tested.sql);
  const table = tables.find(({ name }) => name === "docs");
  if (table === undefined) throw new Error("no table docs");
  const { counts } = await listErrors(tested.sql, table, { path: "main/docs", tables, columns: null, limit: 10 });
  expect(counts).toEqual({ "notes.loud": 1, words: 2 });
  expect((await tested.diff(views)).in_agreement).toBe(true);
});

test("a table does not become a view, nor a view a table or a view of the other kind", async () => {
  tested = await openTestApplication(appWith(NOTE + W));
  const refused = async (source: string): Promise<string> => {
    await expect(tested.update(source)).rejects.toMatchObject({ code: "schema_unsupported" });
    const { tables } = await tested.diff(source);
    return tables
      .flatMap(({ ops }) => ops.filter((op) => op.severity === "unsupported"))
      .map((op) => op.description)
      .join();
  };
  const table = (name: string) => `class Now(Base, name="${name}"):\n    n: db.Int | None\n`;
  expect(await refused(appWith(table("notes") + W))).toContain("'notes' is a filtered view and cannot become a table");
  expect(await refused(appWith(NOTE + table("words")))).toContain(
    "'words' is a view with an iterator and cannot become a table",
  );
  const iterated = W.replace('"words"', '"notes"');
  expect(await refused(appWith(iterated))).toContain(
    "'notes' is a filtered view and cannot become a view with an iter",
  );
  const filtered = NOTE.replace('"notes"', '"words"');
  expect(await refused(appWith(filtered))).toContain("a view with an iterator of the name 'words' exists");
  const withoutKept = (views: string) => appWith(views).replace(/class Kept[\s\S]*?n: db.Int\n/, "");
  expect(await refused(withoutKept(NOTE.replace('"notes"', '"kept"')))).toContain("a table of the name 'kept' exists");
  expect(await refused(withoutKept(W.replace('"words"', '"kept"')))).toContain(
    "'kept' is a table and cannot become a view with an iterator",
  );
});
