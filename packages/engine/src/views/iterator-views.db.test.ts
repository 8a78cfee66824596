import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import type { ServedRoutes } from "@appdb/testkit/test-catalog";
import { afterEach, expect, test } from "vitest";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { Random } from "../expressions/testing/random.ts";
import { type PlannedRecompute, planRecompute, startRecompute } from "../jobs/plan-recompute.ts";

const appWith = ({ least = 1, by = "Doc.title", more = "" }: { least?: number; by?: string; more?: string } = {}) => `
from typing import Iterator, TypedDict

import appdb as db
from appdb.functions import upper
from appdb.functions.string import string_splitter
from appdb.serving import Router

Base = db.model_base()

class Word(TypedDict):
    word: str
    letters: int

@db.iterator
def words(text: str, least: int = 1) -> Iterator[Word]:
    for word in text.split():
        if word == "boom":
            raise ValueError("boom")
        if len(word) >= least:
            yield {"word": word, "letters": len(word)}

@db.iterator
def letters(word: str) -> Iterator[Word]:
    for letter in word:
        yield {"word": letter, "letters": 1}

@db.udf(batch_size=8)
def shouted(text: db.Batch[str], by: db.Batch[str]) -> db.Batch[str]:
    if any("?" in one for one in text):
        raise ValueError("a question")
    return [f"{who}: {one.upper()}!" for one, who in zip(text, by)]

class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
    body: db.String | None

class W(Base, name="words", base=Doc, iterator=words(Doc.body, least=${least})):
    loud = shouted(word, ${by})
    big = upper(word)
    __indexes__ = [db.BtreeIndex(word)]

class Long(Base, name="long", base=W.where(W.letters > 3)):
    twice = W.letters * 2

class Letter(Base, name="letters", base=W.where(W.letters < 3), iterator=letters(W.word)):
    again = word + word
${more}
@db.query
def docs():
    return Doc.select(Doc.id, Doc.title, Doc.body)

@db.query
def found(word: db.String):
    return W.where(W.word == word).select(W.title, W.pos)

@db.query
def all_words():
    return W.select(W.id, W.pos, W.word, W.letters, W.loud, W.big, W.title, why=W.loud.errortype)

@db.query
def long():
    return Long.select(Long.id, Long.word, Long.twice, Long.big)

@db.query
def spelled():
    return Letter.select(Letter.id, Letter.word, Letter.again, Letter.pos)

api = Router(name="api")
api.add_insert_route(Doc, path="/add", on_error="ignore")
api.add_insert_route(Doc, path="/add/strictly")
api.add_update_route(Doc, path="/change")
api.add_delete_route(Doc, path="/drop")
api.add_compute_route(W, path="/preview", outputs=[W.id, W.pos, W.word, W.loud])
for each in (docs, found, all_words, long, spelled):
    api.add_query_route(path=f"/{each.__name__}", query=each)
`;

let tested: TestApplication;
let other: ServedRoutes | undefined;

afterEach(async () => {
  await other?.[Symbol.asyncDispose]();
  other = undefined;
  await tested?.[Symbol.asyncDispose]();
});

async function rowsOf(
  path: string,
  served: ServedRoutes = tested,
  body: unknown = {},
): Promise<Record<string, unknown>[]> {
  const { status, json } = await served.post(path, body);
  expect(status, JSON.stringify(json)).toBe(200);
  return json.rows;
}

/** All rows that are made, from one snapshot of each view. */
const made = async (served: ServedRoutes) => JSON.stringify(await rowsOf("/all_words", served));

test("each row of the base makes rows in its transaction, which change and go with it", async () => {
  tested = await openTestApplication(appWith());
  const { status, json } = await tested.post("/add", { id: 1, title: "one", body: "a fine day" });
  expect(status, JSON.stringify(json)).toBe(200);
  await tested.post("/add", { id: 2, title: "two", body: null });
  expect(await rowsOf("/all_words")).toEqual([
    { id: 1, pos: 0, word: "a", letters: 1, loud: "one: A!", big: "A", title: "one", why: null },
    { id: 1, pos: 1, word: "fine", letters: 4, loud: "one: FINE!", big: "FINE", title: "one", why: null },
    { id: 1, pos: 2, word: "day", letters: 3, loud: "one: DAY!", big: "DAY", title: "one", why: null },
  ]);
  expect(await rowsOf("/long")).toEqual([{ id: 1, word: "fine", twice: 8, big: "FINE" }]);
  expect(await rowsOf("/spelled")).toEqual([{ id: 1, word: "a", again: "aa", pos: 0 }]);
  expect(await rowsOf("/found", tested, { word: "day" })).toEqual([{ title: "one", pos: 2 }]);
  await tested.post("/change", { id: 1, title: "uno" });
  expect((await rowsOf("/all_words")).map(({ loud }) => loud)).toEqual(["uno: A!", "uno: FINE!", "uno: DAY!"]);
  await tested.post("/change", { id: 2, body: "to be" });
  expect((await rowsOf("/spelled")).map(({ word }) => word)).toEqual(["a", "t", "o", "b", "e"]);
  await tested.post("/drop", { id: 1 });
  expect((await rowsOf("/all_words")).map(({ word }) => word)).toEqual(["to", "be"]);
  expect((await rowsOf("/spelled")).map(({ word }) => word)).toEqual(["t", "o", "b", "e"]);
});

test("columns of a view read the number of its row, values of select, and their own row of nested views", async () => {
  tested = await openTestApplication(`${appWith()}
@db.udf
def placed(at: int, word: str) -> str:
    return f"{at}. {word}"

class Placed(Base, name="placed", base=Doc, iterator=words(Doc.body)):
    label = placed(pos, word)
    loud = upper(word)
    of = db.functions.format("{0} of {1}, {2}", pos, Doc.title, loud)

class Second(Base, name="seconds", base=Placed.where(Placed.pos == 1).select(Placed.word, place=Placed.pos, was=Placed.word, label=upper(Placed.label)), iterator=letters(Placed.word)):
    at = db.functions.format("{0}.{1} {2} of {3}", place, pos, word, was)
    double = word + word
    big = upper(word)
    mixed = db.functions.format("{0} {1} {2}", big, double, label)

@db.query
def all_placed():
    return Placed.select(Placed.label, Placed.of)

@db.query
def seconds():
    return Second.order_by(Second.pos).select(Second.at, Second.mixed)

api.add_query_route(path="/all_placed", query=all_placed)
api.add_query_route(path="/seconds", query=seconds)
`);
  const { status, json } = await tested.post("/add/strictly", { id: 1, title: "one", body: "a fine day" });
  expect(status, JSON.stringify(json)).toBe(200);
  expect(await rowsOf("/all_placed")).toEqual([
    { label: "0. a", of: "0 of one, A" },
    { label: "1. fine", of: "1 of one, FINE" },
    { label: "2. day", of: "2 of one, DAY" },
  ]);
  expect(await rowsOf("/seconds")).toEqual([
    { at: "1.0 f of fine", mixed: "F ff 1. FINE" },
    { at: "1.1 i of fine", mixed: "I ii 1. FINE" },
    { at: "1.2 n of fine", mixed: "N nn 1. FINE" },
    { at: "1.3 e of fine", mixed: "E ee 1. FINE" },
  ]);
});

test("a generator that raises refuses its row, or leaves the row without any of its rows", async () => {
  tested = await openTestApplication(appWith());
  const refused = await tested.post("/add/strictly", { id: 1, title: "one", body: "some boom" });
  expect(refused.json).toMatchObject({ code: "function_failed", detail: expect.stringContaining("boom") });
  expect(await rowsOf("/docs")).toEqual([]);
  await tested.post("/add", { id: 1, title: "one", body: "some boom" });
  expect(await rowsOf("/docs")).toHaveLength(1);
  expect(await rowsOf("/all_words")).toEqual([]);
});

test("a failed cell of a made row refuses its base, or is null with its error", async () => {
  tested = await openTestApplication(appWith());
  const refused = await tested.post("/add/strictly", { id: 1, title: "one", body: "why ?" });
  expect(refused.json).toMatchObject({ code: "function_failed", detail: expect.stringContaining("at pos") });
  expect(await rowsOf("/all_words")).toEqual([]);
  await tested.post("/add", { id: 1, title: "one", body: "why" });
  await tested.post("/add", { id: 2, title: "two", body: "why ?" });
  const rows = await rowsOf("/all_words");
  expect(rows.map(({ id, word, big, why }) => ({ id, word, big, why }))).toEqual([
    { id: 1, word: "why", big: "WHY", why: null },
    { id: 2, word: "why", big: "WHY", why: null },
    { id: 2, word: "?", big: "?", why: "ValueError" },
  ]);
});

test("a recompute of a column that is made with its row makes the rows of its base again", async () => {
  tested = await openTestApplication(appWith());
  await tested.post("/add", { id: 1, title: "one", body: "a fine day" });
  const catalog = await loadCatalog(tested.sql);
  const plan = (columns: readonly string[]) =>
    planRecompute(catalog, {
      folder: "public",
      table: "words",
      columns,
      cascade: true,
      errors_only: false,
      on_error: "abort",
    });
  const shown = ({ table, columns }: PlannedRecompute) => [table.name, columns.map(({ name }) => name)];
  expect(shown(plan(["loud"]))).toEqual(["docs", ["words.(rows)"]]);
  expect(shown(plan([]))).toEqual(["docs", ["words.(rows)"]]);
  expect(shown(plan(["big"]))).toEqual(["words", ["big"]]);
  expect(plan(["big"]).views).toEqual(["letters", "long"]);
  expect(() => plan(["word_"])).toThrow("View words has no column word_.");
  const { job } = await tested.sql.transaction((sql) =>
    startRecompute(sql, {
      folder: "public",
      table: "words",
      columns: [],
      cascade: true,
      errors_only: false,
      on_error: "abort",
    }),
  );
  await tested.finish([job ?? ""]);
  expect((await rowsOf("/all_words")).map(({ loud }) => loud)).toEqual(["one: A!", "one: FINE!", "one: DAY!"]);
});

test("a key that is taken leaves no rows behind", async () => {
  tested = await openTestApplication(appWith());
  await tested.post("/add", { id: 1, title: "one", body: "first text" });
  expect((await tested.post("/add", { id: 1, title: "two", body: "second text" })).status).toBe(409);
  expect((await rowsOf("/all_words")).map(({ word }) => word)).toEqual(["first", "text"]);
});

test("a view is filled over a table with rows, and made again when its iterator changes", async () => {
  tested = await openTestApplication(appWith());
  for (let id = 1; id <= 5; id++) await tested.post("/add", { id, title: `t${id}`, body: `${"x".repeat(id)} end` });
  const changed = appWith({ least: 3 });
  const plan = await tested.diff(changed);
  expect(plan.tables.find(({ path }) => path === "main/words")).toMatchObject({
    kind: "view",
    resolution: "update_additive",
  });
  await tested.finish(await tested.update(changed));
  // A service of the previous file reads the base's identity, which is there as before.
  expect((await rowsOf("/all_words")).map(({ title }) => title)).toHaveLength(8);
  other = await tested.serve(changed);
  expect((await rowsOf("/all_words", other)).map(({ word }) => word)).toEqual([
    ..."end end xxx end xxxx end xxxxx end".split(" "),
  ]);
  expect((await tested.diff(changed)).in_agreement).toBe(true);
  const more = appWith({
    least: 3,
    more: `
class Again(Base, name="again", base=Doc, iterator=string_splitter(Doc.body, separators="sentence")):
    pass
`,
  });
  await tested.finish(await tested.update(more));
  const { rows } = await tested.sql.query({ text: "select count(*), min(text) from again" });
  expect(rows).toEqual([["5", "x end"]]);
});

test.each([1, 2, 3])("after random writes, iterator views equal ones computed from nothing (seed %i)", async (seed) => {
  const random = new Random(seed);
  let least = 1;
  tested = await openTestApplication(appWith({ least }));
  let served: ServedRoutes = tested;
  const docs = new Map<number, { title: string; body: string | null }>();
  for (let step = 0; step < 36; step++) {
    const id = random.int(1, 8);
    const doc = {
      title: random.pick(["one", "two"]),
      body: random.pick([null, "", "a bc def", "ghij", "a a a klmno", "pq rst uvwx yz"]),
    };
    const kind = random.pick(["add", "add", "change", "change", "drop"] as const);
    if (step % 12 === 11) {
      least = random.int(1, 4);
      const before = await made(served);
      const jobs = await tested.update(appWith({ least }));
      const ended = tested.finish(jobs);
      const meanwhile = new Set([await made(served), await made(served)]);
      await ended;
      const after = await made(served);
      for (const one of meanwhile) expect([before, after]).toContain(one);
      await other?.[Symbol.asyncDispose]();
      other = await tested.serve(appWith({ least }));
      served = other;
    } else if (kind === "drop") {
      await served.post("/drop", { id });
      docs.delete(id);
    } else if ((kind === "add") !== docs.has(id)) {
      const answer = await served.post(kind === "add" ? "/add" : "/change", { id, ...doc });
      expect(answer.status, answer.text).toBe(200);
      docs.set(id, doc);
    }
    const expected = [...docs]
      .sort(([a], [b]) => a - b)
      .flatMap(([of, { title, body }]) =>
        (body ?? "")
          .split(" ")
          .filter((word) => word !== "" && word.length >= least)
          .map((word, pos) => ({ id: of, pos, word, loud: `${title}: ${word.toUpperCase()}!` })),
      );
    const found = await rowsOf("/all_words", served);
    const sorted = found.sort((a, b) => Number(a.id) - Number(b.id) || Number(a.pos) - Number(b.pos));
    expect(sorted.map(({ id: of, pos, word, loud }) => ({ id: of, pos, word, loud }))).toEqual(expected);
    const preview = await served.post("/preview", { id, ...(docs.get(id) ?? { title: "", body: null }) });
    expect(preview.json).toEqual(expected.filter((row) => row.id === id));
    const long = (await rowsOf("/long", served)).map(({ word }) => word).sort();
    expect(long).toEqual(expected.flatMap(({ word }) => (word.length > 3 ? [word] : [])).sort());
    const letters = (await rowsOf("/spelled", served)).map(({ word }) => word).sort();
    expect(letters).toEqual(expected.flatMap(({ word }) => (word.length < 3 ? [...word] : [])).sort());
  }
});
