import { eventually } from "@appdb/testkit/eventually";
import { LiveClient } from "@appdb/testkit/live-client";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import type { ServedRoutes } from "@appdb/testkit/test-catalog";
import { afterEach, expect, test } from "vitest";

/** A table with a view of each kind. `python`: columns of the base and of the views need Python, not SQL alone. */
const appWith = ({ more = "", least = 1, python = true }: { more?: string; least?: number; python?: boolean } = {}) => `
from typing import Iterator, TypedDict

import appdb as db
from appdb.functions import upper
from appdb.serving import Router

Base = db.model_base()

class Part(TypedDict):
    word: str

@db.iterator
def parts(text: str, least: int = 1) -> Iterator[Part]:
    for word in text.split():
        if word == "boom":
            raise ValueError("boom")
        if len(word) >= least:
            yield {"word": word}

@db.udf
def shouted(text: str) -> str:
    if text == "bad":
        raise ValueError("bad text")
    return text.upper() + "!"

class Doc(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    kind: db.String
    body: db.String

class Note(Base, name="notes", base=Doc.where(Doc.kind == "note")):
    loud = ${python ? "shouted" : "upper"}(Doc.body)

class W(Base, name="words", base=Doc, iterator=parts(Doc.body, least=${least})):
    big = upper(word)
${more}
@db.query
def notes():
    return Note.order_by(Note.id).select(Note.id, Note.loud)

@db.query
def words():
    return W.order_by(W.id, W.pos).select(W.id, W.pos, W.word, W.big)

@db.query
def words_of(kind: db.String):
    return W.where(W.kind == kind).order_by(W.id, W.pos).select(W.id, W.word)

api = Router(name="api")
api.add_insert_route(Doc, path="/add")
api.add_insert_route(Doc, path="/add/later", background=True)
api.add_insert_route(Doc, path="/add/anyway", on_error="ignore")
api.add_update_route(Doc, path="/change")
api.add_delete_route(Doc, path="/drop")
api.add_delete_route(Doc, path="/drop/kind", match_columns=[Doc.kind])
for each in (notes, words, words_of):
    api.add_query_route(path=f"/{each.__name__}", query=each, method="get")
`;

let tested: TestApplication;
const closing: AsyncDisposable[] = [];

afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one[Symbol.asyncDispose]();
  await tested?.[Symbol.asyncDispose]();
});

async function rowsOf(path: string, served: ServedRoutes = tested): Promise<Record<string, unknown>[]> {
  const { status, json, text } = await served.get(path);
  expect(status, text).toBe(200);
  return json.rows;
}

const wordsOf = async (served?: ServedRoutes): Promise<string> =>
  (await rowsOf("/words", served)).map(({ id, pos, word, big }) => `${id}.${pos} ${word} ${big}`).join(", ");

async function counts(): Promise<readonly (string | null)[] | undefined> {
  const text = `select (select count(*) from docs), (select count(*) from words),
    (select count(*) from words w where not exists (select from docs d where d._row = w._base_row))`;
  return (await tested.sql.query({ text })).rows[0];
}

/** Sends rows as lines, as a program does that does not know their number. */
function sendLines(docs: readonly object[]) {
  async function* pieces() {
    yield Buffer.from(docs.map((doc) => JSON.stringify(doc)).join("\n"));
  }
  const headers = { "content-type": "application/x-ndjson" };
  return tested.send("/add", { headers, stream: pieces(), signal: new AbortController().signal });
}

test("many lines fill both kinds of views, and a line that is refused leaves no rows of any", async () => {
  tested = await openTestApplication(appWith());
  const docs = Array.from({ length: 2_500 }, (_none, id) => {
    return { id, kind: id % 2 === 0 ? "note" : "other", body: `a${id} "b\\" {c,d}` };
  });
  const { status, text } = await sendLines(docs);
  expect(status, text.slice(0, 300)).toBe(200);
  expect(await counts()).toEqual(["2500", "7500", "0"]);
  const { rows } = await tested.sql.query({
    text: `select count(*) from words w join docs d on d._row = w._base_row
      where (w.pos = 0 and w.word = 'a' || d.id) or (w.pos = 1 and w.word = '"b\\"') or (w.pos = 2 and w.big = '{C,D}')`,
  });
  expect(rows).toEqual([["7500"]]);
  expect(await rowsOf("/notes")).toHaveLength(1_250);
  const more = [
    ...Array.from({ length: 1_500 }, (_none, id) => ({ id: 5_000 + id, kind: "x", body: "fine" })),
    { id: 9_000, kind: "x", body: "boom" },
  ];
  const refused = await sendLines(more);
  expect(refused.text).toContain("boom");
  expect(await counts()).toEqual(["2500", "7500", "0"]);
  const taken = await tested.post("/add", [
    { id: 9_001, kind: "x", body: "x y" },
    { id: 1, kind: "x", body: "z" },
  ]);
  expect(taken.status).toBe(409);
  expect(await counts()).toEqual(["2500", "7500", "0"]);
  expect((await tested.post("/drop/kind", { kind: "note" })).status).toBe(200);
  expect(await counts()).toEqual(["1250", "3750", "0"]);
});

test("a repeated request with an idempotency key stores its rows once", async () => {
  tested = await openTestApplication(appWith());
  const headers = { "idempotency-key": "k-1" };
  const body = [
    { id: 1, kind: "note", body: "to be" },
    { id: 2, kind: "other", body: "or not" },
  ];
  const first = await tested.post("/add", body, { headers });
  expect(first.status, first.text).toBe(200);
  const again = await tested.post("/add", body, { headers });
  expect([again.status, again.json]).toEqual([200, first.json]);
  expect(await counts()).toEqual(["2", "4", "0"]);
  const single = { headers: { "idempotency-key": "k-2" } };
  const one = await tested.post("/add", { id: 3, kind: "note", body: "that is" }, single);
  expect(one.status, one.text).toBe(200);
  expect((await tested.post("/add", { id: 3, kind: "note", body: "that is" }, single)).json).toEqual(one.json);
  expect(await wordsOf()).toBe("1.0 to TO, 1.1 be BE, 2.0 or OR, 2.1 not NOT, 3.0 that THAT, 3.1 is IS");
  expect(await rowsOf("/notes")).toEqual([
    { id: 1, loud: "TO BE!" },
    { id: 3, loud: "THAT IS!" },
  ]);
});

test("a background insert stores the rows of views when its job runs", async () => {
  tested = await openTestApplication(appWith());
  const queued = await tested.post("/add/later", { id: 1, kind: "note", body: "to be" });
  expect(queued.status, queued.text).toBe(200);
  expect(await rowsOf("/words")).toEqual([]);
  const stop = new AbortController();
  const running = tested.endpoints.background("test")?.run(stop.signal, 50);
  try {
    await eventually(async () => expect(await wordsOf()).toBe("1.0 to TO, 1.1 be BE"));
    expect(await rowsOf("/notes")).toEqual([{ id: 1, loud: "TO BE!" }]);
  } finally {
    stop.abort();
    await running;
  }
});

test("columns of SQL alone follow lines that need no worker", async () => {
  tested = await openTestApplication(appWith({ python: false }));
  const { status, text } = await sendLines(["a b", "c", ""].map((body, id) => ({ id, kind: "note", body })));
  expect(status, text).toBe(200);
  expect(await rowsOf("/notes")).toEqual([
    { id: 0, loud: "A B" },
    { id: 1, loud: "C" },
    { id: 2, loud: "" },
  ]);
  expect(await wordsOf()).toBe("0.0 a A, 0.1 b B, 1.0 c C");
});

test("services of two versions write at once, and a job fills what the older one does not know", async () => {
  tested = await openTestApplication(appWith());
  await tested.post("/add", { id: 1, kind: "note", body: "to be" });
  const later = appWith({
    least: 2,
    more: `
    longer = word + word

class Other(Base, name="others", base=Doc.where(Doc.kind != "note")):
    loud = shouted(Doc.body)

class Again(Base, name="again", base=Note, iterator=parts(Note.loud)):
    pass
`,
  });
  const jobs = await tested.update(later);
  await tested.finish(jobs);
  const newer = await tested.serve(later);
  closing.push(newer);
  expect(await wordsOf(newer)).toBe("1.0 to TO, 1.1 be BE");
  await Promise.all([
    tested.post("/add", { id: 2, kind: "other", body: "i am old" }),
    newer.post("/add", { id: 3, kind: "note", body: "i am new" }),
    tested.post("/change", { id: 1, body: "o that" }),
  ]);
  const { rows } = await tested.sql.query({ text: "select id from appdb.jobs where state in ('queued', 'running')" });
  await tested.finish(rows.flatMap(([id]) => id ?? []));
  expect((await tested.sql.query({ text: "select id, _errors from docs where _errors is not null" })).rows).toEqual([]);
  expect(await wordsOf(newer)).toBe("1.0 that THAT, 2.0 am AM, 2.1 old OLD, 3.0 am AM, 3.1 new NEW");
  const made = await tested.sql.query({ text: `select word, longer from words order by word` });
  expect(made.rows).toEqual(["am", "am", "new", "old", "that"].map((word) => [word, word + word]));
  const again = await tested.sql.query({ text: "select word from again order by word" });
  expect(again.rows).toEqual([["AM"], ["I"], ["NEW!"], ["O"], ["THAT!"]]);
  expect((await tested.diff(later)).in_agreement).toBe(true);
});

test("live queries over both kinds of views follow their rows", async () => {
  tested = await openTestApplication(appWith());
  await tested.post("/add", { id: 1, kind: "note", body: "to be" });
  const open = async (path: string): Promise<LiveClient> => {
    const reader = await tested.stream(path);
    closing.push(reader);
    const client = new LiveClient(reader);
    expect(await client.take()).toBe("result");
    return client;
  };
  const notes = await open("/notes");
  const words = await open("/words_of?kind=note");
  expect(words.rows).toEqual([
    { id: 1, word: "to" },
    { id: 1, word: "be" },
  ]);
  await tested.post("/add", { id: 2, kind: "note", body: "or" });
  await notes.until([
    { id: 1, loud: "TO BE!" },
    { id: 2, loud: "OR!" },
  ]);
  await words.until([
    { id: 1, word: "to" },
    { id: 1, word: "be" },
    { id: 2, word: "or" },
  ]);
  await tested.post("/change", { id: 1, kind: "other" });
  await notes.until([{ id: 2, loud: "OR!" }]);
  await words.until([{ id: 2, word: "or" }]);
  await tested.post("/change", { id: 2, body: "not so" });
  await notes.until([{ id: 2, loud: "NOT SO!" }]);
  await words.until([
    { id: 2, word: "not" },
    { id: 2, word: "so" },
  ]);
  await tested.post("/drop", { id: 2 });
  await notes.until([]);
  await words.until([]);
});

test("updates of one row at once leave the rows of its last version", async () => {
  tested = await openTestApplication(appWith());
  await tested.post("/add", { id: 1, kind: "note", body: "start" });
  const bodies = Array.from({ length: 12 }, (_none, n) => `n${n} of ${n}`);
  const answers = await Promise.all(bodies.map((body) => tested.post("/change", { id: 1, body })));
  expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 200));
  const { rows } = await tested.sql.query({
    text: `select d.body, d."notes.loud", string_agg(w.word, ' ' order by w.pos), count(*), d."words.(rows)"::text
      from docs d join words w on w._base_row = d._row group by d._row, d.body, d."notes.loud", d."words.(rows)"::text`,
  });
  const [body = ""] = rows[0] ?? [];
  expect(rows).toEqual([[body, `${body?.toUpperCase()}!`, body, "3", "3"]]);
});
