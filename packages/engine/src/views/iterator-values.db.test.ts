import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterEach, beforeEach, expect, test } from "vitest";

/** An iterator with an output of each kind that it can have, and views that read its rows in every way. */
const APP = `
from datetime import date, datetime, timezone
from typing import Any, Iterator, TypedDict
from uuid import UUID

import appdb as db
import numpy as np
from appdb.functions import upper
from appdb.functions.json import list_iterator
from appdb.functions.string import string_splitter
from appdb.serving import Router

Base = db.model_base()

class Kinds(TypedDict):
    text: str | None
    n: int | None
    x: float | None
    yes: bool | None
    day: date | None
    at: datetime | None
    key: UUID | None
    raw: bytes | None
    doc: dict | None
    vec: db.Array[(2,), np.float64] | None
    small: db.Array[(None, 2), np.float32] | None
    wide: db.Array[db.Int] | None
    words: db.Array[(None,), db.String] | None
    flags: db.Array[(3,), db.Bool] | None

class Point(TypedDict):
    at: db.Array[(2,), db.Float]
    square: db.Array[(2, 2), db.Int]

BIG = 2**63 - 1

@db.iterator
def kinds(n: int) -> Iterator[Kinds]:
    texts = ['a "b" \\\\ {c}, NULL', "", "NULL", "\\u2028\\n\\t", "\\U0001f34b"]
    for k in range(n):
        yield {
            "text": texts[k % 5], "n": BIG - k, "x": 0.1 * k if k else 1e300, "yes": k % 2 == 0,
            "day": date(2024, 2, 29), "at": datetime(2024, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc),
            "key": UUID(int=k), "raw": bytes([0, 255, k % 256]), "doc": {"n": BIG, "t": texts[k % 5], "f": 1.0},
            "vec": [0.1 * k, 5e-324], "small": np.array([[0.1, 1 / 3], [k, 1e-45]], dtype=np.float32)[: k % 3],
            "wide": [[BIG - k, -BIG], [0, k]], "words": [texts[k % 5], '{"'], "flags": np.array([k % 2 == 0, True, False]),
        }
    yield dict.fromkeys(Kinds.__annotations__)

@db.iterator(unstored_cols=["square"])
def points(n: int) -> Iterator[Point]:
    for k in range(n):
        yield {"at": [1.0, float(k)], "square": [[k, k], [k, k]]}

@db.udf
def added(vec: db.Array[(2,), np.float64]) -> float:
    return vec[0] + vec[1]

@db.udf
def twice(vec: db.Array[(2,), db.Float]) -> db.Array[(2,), db.Float]:
    return [2 * one for one in vec]

@db.udf
def embed(text: str) -> db.Array[(2,), db.Float]:
    return [float(text.count("a")), float(text.count("b"))]

class Src(Base, name="srcs"):
    id = db.Column(type=db.Int, primary_key=True)
    n: db.Int
    title: db.String
    story: db.String | None
    title_len = db.Column(value=title + "?", stored=False)

class K(Base, name="kinds", base=Src.select(Src.id, label=Src.title), iterator=kinds(Src.n)):
    again = text
    later = day
    total = added(vec)

class P(Base, name="points", base=Src, iterator=points(Src.n)):
    doubled = twice(at)
    __indexes__ = [db.EmbeddingIndex(at, metric="l2")]

class S(Base, name="sentences", base=Src, iterator=string_splitter(Src.story, separators="sentence")):
    loud = db.Column(value=upper(text), stored=False)
    number = pos + 1
    made = upper(text)
    given = made + "?" + text
    first = given + "!"
    __indexes__ = [db.BtreeIndex(text), db.EmbeddingIndex(text, embedding=embed)]

class Long(Base, name="long", base=S.where(S.pos > 0)):
    said = upper(S.text)

@db.query
def all_kinds():
    return K.order_by(K.pos).select(K.id, K.pos, K.text, K.n, K.x, K.yes, K.day, K.at, K.key, K.raw, K.doc, K.again, K.later, K.vec, K.small, K.wide, K.words, K.flags, K.total)

@db.query
def all_points():
    return P.order_by(P.id, P.pos).select(P.at, P.square, P.doubled)

@db.query
def nearest_point(v: db.Array[(2,), db.Float]):
    sim = P.at.similarity(vector=v)
    return P.order_by(sim, asc=False).limit(1).select(P.pos, P.at)

@db.query
def nearest(q: db.String):
    sim = S.text.similarity(string=q)
    return S.order_by(sim, asc=False).limit(2).select(S.text, S.title, sim=sim)

@db.query
def nearest_long(q: db.String):
    sim = Long.text.similarity(string=q)
    return Long.order_by(sim, asc=False).limit(2).select(Long.text, sim=sim)

@db.query
def loud():
    return S.order_by(S.id, S.pos).select(S.loud, S.title, S.number)

@db.query
def same_title():
    return Src.join(S, on=Src.title == S.title).order_by(Src.id, S.pos).select(Src.id, S.pos)

@db.query
def left_title():
    return Src.join(S, on=Src.title == S.title, how="left").order_by(Src.id, S.pos).select(Src.id, S.pos)

@db.query
def left_story():
    return Src.join(S, on=Src.id == S.id, how="left").order_by(Src.id, S.pos).select(Src.id, S.text, title=S.title)

api = Router(name="api")
api.add_insert_route(Src, path="/add")
for each in (all_kinds, all_points, nearest_point, nearest, nearest_long, loud, same_title, left_title, left_story):
    api.add_query_route(path=f"/{each.__name__}", query=each)
`;

let tested: TestApplication;

beforeEach(async () => {
  tested = await openTestApplication(APP);
});

afterEach(async () => {
  await tested?.[Symbol.asyncDispose]();
});

async function rowsOf(path: string, body: unknown = {}): Promise<Record<string, unknown>[]> {
  const { status, json, text } = await tested.post(path, body);
  expect(status, text).toBe(200);
  return json.rows;
}

async function add(row: object): Promise<void> {
  const { status, text } = await tested.post("/add", { n: 0, title: "t", story: null, ...row });
  expect(status, text).toBe(200);
}

test("outputs of every kind are stored as columns store them", async () => {
  await add({ id: 1, n: 5 });
  const rows = await rowsOf("/all_kinds");
  expect(rows).toHaveLength(6);
  expect(rows[0]).toMatchObject({
    pos: 0,
    text: 'a "b" \\ {c}, NULL',
    x: 1e300,
    yes: true,
    day: "2024-02-29",
    key: "00000000-0000-0000-0000-000000000000",
    raw: Buffer.from([0, 255, 0]).toString("base64"),
    again: 'a "b" \\ {c}, NULL',
    later: "2024-02-29",
  });
  expect(rows.map(({ text }) => text)).toEqual(['a "b" \\ {c}, NULL', "", "NULL", "\u2028\n\t", "\u{1f34b}", null]);
  expect(rows[5]).toMatchObject({ text: null, n: null, x: null, yes: null, at: null, raw: null, doc: null });
  const { rows: stored } = await tested.sql.query({
    text: `select n, x, "at", doc::text from kinds where n is not null order by pos limit 2`,
  });
  expect(stored.map(([n]) => n)).toEqual(["9223372036854775807", "9223372036854775806"]);
  expect(stored[0]?.[2]).toContain("03:04:05.678901");
  expect(JSON.parse(stored[0]?.[3] ?? "")).toMatchObject({ t: 'a "b" \\ {c}, NULL' });
  expect(stored[0]?.[3]).toContain("9223372036854775807");
});

test("outputs that are arrays are stored exactly, and null", async () => {
  await add({ id: 1, n: 5 });
  const rows = await rowsOf("/all_kinds");
  expect(rows[1]).toMatchObject({
    vec: [0.1, 5e-324],
    small: [[0.1, 0.33333334]],
    words: ["", '{"'],
    flags: [false, true, false],
    total: 0.1,
  });
  expect(rows.map(({ small }) => small)).toEqual([
    [],
    [[0.1, 0.33333334]],
    [
      [0.1, 0.33333334],
      [2, 1e-45],
    ],
    [],
    [[0.1, 0.33333334]],
    null,
  ]);
  expect(rows[5]).toMatchObject({ vec: null, wide: null, words: null, flags: null, total: null });
  const { rows: stored } = await tested.sql.query({
    text: `select wide::text, words::text, pg_typeof(vec)::text, pg_typeof(small)::text from kinds order by pos limit 2`,
  });
  expect(stored).toEqual([
    [
      "{{9223372036854775807,-9223372036854775807},{0,0}}",
      String.raw`{"a \"b\" \\ {c}, NULL","{\""}`.replaceAll("\\\\", "\\\\"),
      "double precision[]",
      "real[]",
    ],
    ["{{9223372036854775806,-9223372036854775807},{0,1}}", '{"","{\\""}', "double precision[]", "real[]"],
  ]);
});

test("an index finds arrays of an iterator, and unstored arrays are made when they are read", async () => {
  await add({ id: 1, n: 3 });
  expect(await rowsOf("/all_points")).toEqual(
    [0, 1, 2].map((k) => ({
      at: [1, k],
      square: [
        [k, k],
        [k, k],
      ],
      doubled: [2, 2 * k],
    })),
  );
  expect(await rowsOf("/nearest_point", { v: [1, 1.9] })).toEqual([{ pos: 2, at: [1, 2] }]);
});

test("rows with a vector of a view's index come nearest first", async () => {
  await add({ id: 1, title: "one", story: "Aaa aaa. Bbb bbb. Ab ab." });
  const found = await rowsOf("/nearest", { q: "bbbb" });
  expect(found.map(({ text, title }) => [text, title])).toEqual([
    ["Bbb bbb.", "one"],
    ["Ab ab.", "one"],
  ]);
  expect((await rowsOf("/nearest_long", { q: "aaaa" })).map(({ text }) => text)).toEqual(["Ab ab.", "Bbb bbb."]);
  const { rows } = await tested.sql.query({
    text: "select indexdef from pg_indexes where tablename = 'sentences' and indexdef like '%hnsw%'",
  });
  expect(rows).toHaveLength(1);
});

test("unstored columns of an iterator view are computed when they are read", async () => {
  await add({ id: 1, title: "one", story: "A b. C d." });
  expect(await rowsOf("/loud")).toEqual([
    { loud: "A B.", title: "one", number: 1 },
    { loud: "C D.", title: "one", number: 2 },
  ]);
});

test("joins with an iterator view can compare and show columns of its base", async () => {
  await add({ id: 1, title: "one", story: "A b. C d." });
  await add({ id: 2, title: "two" });
  await add({ id: 3, title: "one" });
  expect(await rowsOf("/left_story")).toEqual([
    { id: 1, text: "A b.", title: "one" },
    { id: 1, text: "C d.", title: "one" },
    { id: 2, text: null, title: null },
    { id: 3, text: null, title: null },
  ]);
  const same = [1, 3].flatMap((id) => [0, 1].map((pos) => ({ id, pos })));
  expect(await rowsOf("/same_title")).toEqual(same);
  expect(await rowsOf("/left_title")).toEqual([...same.slice(0, 2), { id: 2, pos: null }, ...same.slice(2)]);
});

test("columns that SQL computes with the rows can have any name, and read each other", async () => {
  await add({ id: 1, story: 'One é. "Two".' });
  const { rows } = await tested.sql.query({
    text: "select text, made, given, first, _row from sentences order by pos",
  });
  expect(rows.map((row) => row.slice(0, 4))).toEqual([
    ["One é.", "ONE É.", "ONE É.?One é.", "ONE É.?One é.!"],
    ['"Two".', '"TWO".', '"TWO".?"Two".', '"TWO".?"Two".!'],
  ]);
  expect(rows.map(([, , , , id]) => String(id).slice(-5))).toEqual(["00000", "00001"]);
});
