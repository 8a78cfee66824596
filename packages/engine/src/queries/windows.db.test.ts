import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, expect, test } from "vitest";
import { explainQuery } from "../endpoints/explain-query.ts";

/** Ordered aggregates and windows, in SQL and in real workers. */
const APP = `
import appdb as db
import appdb.functions as fn
from appdb.serving import Router

Base = db.model_base()


class Items(Base, name="items"):
    id = db.Column(db.Int, primary_key=True)
    kind: db.String | None
    n: db.Int | None
    x: db.Float | None
    big: db.Int | None


@db.udf
def same(x: int | None) -> int | None:
    return x


@db.uda(requires_order_by=True)
class joined(db.Aggregator):
    def __init__(self, by: str = ""):
        self.by, self.parts = by, []

    def update(self, text: str | None):
        if text == "bad":
            raise ValueError("a bad part")
        self.parts.append(text or "?")

    def value(self) -> str:
        return self.by.join(self.parts)


@db.uda(allows_window=True)
class total(db.Aggregator):
    def __init__(self, start: int = 0):
        self.sum = start

    def update(self, n: int):
        if n == 13:
            raise ValueError("13 brings bad luck")
        self.sum += n

    def value(self) -> int:
        return self.sum


@db.uda(requires_order_by=True, allows_window=True, allows_std_agg=False)
class path(db.Aggregator):
    def __init__(self):
        self.parts = ""

    def update(self, text: str | None):
        self.parts += text or "?"

    def value(self) -> str:
        return self.parts


r = Router(name="q")
r.add_insert_route(Items, path="/items", inputs=["id", "kind", "n", "x", "big"])


def serve(function):
    marked = db.query(function)
    r.add_query_route(path="/" + function.__name__, query=marked, method="get")
    return marked


def whole(by: str): return Items.where(Items.id < 10).select(up=joined(Items.id, Items.kind, by=by), down=joined(-Items.id, Items.kind, by=by), n=fn.count(), listed=fn.make_list(Items.id, order_by=Items.n))
whole = serve(whole)
def grouped(): return Items.where(Items.id < 10).group_by(Items.kind).select(Items.kind, j=joined(-Items.id, Items.id.astype(db.String), by="+"), s=fn.sum(Items.n), t=total(Items.n)).order_by(Items.kind)
grouped = serve(grouped)
def through_python(): return Items.where(same(Items.id) < 10).select(j=joined(same(-Items.id), Items.kind))
through_python = serve(through_python)
def bad(): return Items.where(Items.id >= 10).group_by(Items.kind).select(Items.kind, j=joined(Items.id, Items.kind))
bad = serve(bad)
def running(): return Items.where(Items.id < 10).select(Items.id, s=fn.sum(Items.n, order_by=Items.id), m=fn.mean(Items.x, order_by=Items.id), c=fn.count(order_by=-Items.id), top=fn.max(Items.n, group_by=Items.kind, order_by=Items.id)).order_by(Items.id)
running = serve(running)
def ties(): return Items.where(Items.id < 10).select(Items.id, c=fn.count(order_by=Items.kind)).order_by(Items.id)
ties = serve(ties)
def by_insertion(): return Items.where(Items.id < 10).select(Items.id, s=fn.sum(Items.n, group_by=Items.kind))
by_insertion = serve(by_insertion)
def in_worker(start: int): return Items.where(Items.id < 10).select(Items.id, t=total(Items.n, start=start, group_by=Items.kind, order_by=-Items.id), s=fn.sum(Items.n, order_by=Items.id), p=path(Items.n, Items.kind)).order_by(Items.id)
in_worker = serve(in_worker)
def sorted_by(): return Items.where(Items.id < 10).select(Items.id).order_by(fn.sum(Items.n, order_by=Items.id), asc=False).limit(2)
sorted_by = serve(sorted_by)
def sorted_by_python(): return Items.where(Items.id < 10).select(Items.id, s=same(fn.sum(Items.n, order_by=Items.id))).order_by(same(fn.sum(Items.n, order_by=Items.id)), asc=False).limit(2)
sorted_by_python = serve(sorted_by_python)
def limited(): return Items.where(Items.id < 10).select(Items.id, s=fn.sum(Items.n, order_by=-Items.id), t=total(Items.n, order_by=-Items.id)).order_by(Items.id).limit(2)
limited = serve(limited)
def of_python(): return Items.where(same(Items.id) < 10).select(Items.id, s=fn.sum(same(Items.n), order_by=same(-Items.id))).order_by(Items.id)
of_python = serve(of_python)
def different(): return Items.where(Items.id < 10).select(c=fn.count(group_by=Items.kind)).distinct()
different = serve(different)
def drawn(): return Items.where(Items.id < 10).sample(n=3, seed=1).select(c=fn.count(order_by=Items.id), t=total(1, order_by=Items.id))
drawn = serve(drawn)
def last(): return Items.where(Items.id < 10).select(Items.id, c=fn.count(order_by=Items.id)).order_by(Items.id).tail(2)
last = serve(last)
def one(id: int): return Items.where(Items.id == id).select(Items.id, c=fn.count(order_by=Items.id))
one = serve(one)
def unlucky(): return Items.select(t=total(Items.n + 8, order_by=Items.id))
unlucky = serve(unlucky)
def overflow(): return Items.select(s=fn.sum(Items.big, order_by=Items.id))
overflow = serve(overflow)
def empty(): return Items.where(Items.id > 99).select(t=total(Items.n, order_by=Items.id), s=fn.sum(Items.n, order_by=Items.id))
empty = serve(empty)
`;

let tested: TestApplication;

beforeAll(async () => {
  tested = await openTestApplication(APP, { rows_in_flight: 1_000 });
  const rows: [number, string | null, number | null, number | null, string | null][] = [
    [3, "a", 2, null, null],
    [1, "a", 5, 1.5, null],
    [2, "b", null, 2.5, null],
    [5, "b", 7, 1, null],
    [4, "a", 2, 1, null],
    [6, null, 1, 1, null],
    [10, "bad", 1, 1, "9223372036854775807"],
    [11, "bad", 1, 1, "9223372036854775807"],
  ];
  for (const row of rows) {
    const text = "insert into items (_row, id, kind, n, x, big) values (uuidv7(), $1, $2, $3, $4, $5)";
    await tested.sql.query({ text, values: row });
  }
});

afterAll(() => tested[Symbol.asyncDispose]());

async function rows(path: string): Promise<unknown> {
  const { json, status } = await tested.get(path);
  expect({ status, json }).toMatchObject({ status: 200 });
  return json.rows;
}

/** The columns of rows, by name. */
async function columns(path: string): Promise<Record<string, unknown[]>> {
  const found = (await rows(path)) as Record<string, unknown>[];
  const names = Object.keys(found[0] ?? {});
  return Object.fromEntries(names.map((name) => [name, found.map((row) => row[name])]));
}

test("ordered aggregates each get their rows in their own order", async () => {
  expect(await rows("/whole?by=-")).toEqual([
    { up: "a-b-a-a-b-?", down: "?-b-a-a-b-a", n: 6, listed: [6, 3, 4, 1, 5, 2] },
  ]);
});

test("an ordered aggregate works next to others in groups", async () => {
  expect(await rows("/grouped")).toEqual([
    { kind: "a", j: "4+3+1", s: 9, t: 9 },
    { kind: "b", j: "5+2", s: 7, t: 7 },
    { kind: null, j: "6", s: 1, t: 1 },
  ]);
});

test("Python computes the order of an aggregate", async () => {
  expect(await rows("/through_python")).toEqual([{ j: "?baaba" }]);
});

test("the error of an ordered aggregate names its group", async () => {
  const { json } = await tested.get("/bad");
  expect(json).toMatchObject({ code: "function_failed", meta: { group: { kind: "bad" }, message: "a bad part" } });
});

test("a window is the value of the rows up to each row", async () => {
  expect(await columns("/running")).toEqual({
    id: [1, 2, 3, 4, 5, 6],
    s: [5, 5, 7, 9, 16, 17],
    m: [1.5, 2, 2, 5 / 3, 1.5, 1.4],
    c: [6, 5, 4, 3, 2, 1],
    top: [5, null, 5, 5, 7, 1],
  });
});

test("equal rows of a window count one after the other, as they were inserted", async () => {
  expect(await columns("/ties")).toEqual({ id: [1, 2, 3, 4, 5, 6], c: [2, 4, 1, 3, 5, 6] });
  expect(await columns("/by_insertion")).toEqual({ id: [3, 1, 2, 5, 4, 6], s: [2, 7, null, 7, 9, 1] });
});

test("windows of the application run in workers, next to those of SQL", async () => {
  expect(await columns("/in_worker?start=100")).toEqual({
    id: [1, 2, 3, 4, 5, 6],
    t: [109, null, 104, 102, 107, 101],
    s: [5, 5, 7, 9, 16, 17],
    p: ["?aaa", "?aaabb", "?a", "?aa", "?aaab", "?"],
  });
});

test("windows see all rows, whatever the limit and the order of the response", async () => {
  expect(await rows("/sorted_by")).toEqual([{ id: 6 }, { id: 5 }]);
  expect(await rows("/sorted_by_python")).toEqual([
    { id: 6, s: 17 },
    { id: 5, s: 16 },
  ]);
  expect(await columns("/limited")).toEqual({ id: [1, 2], s: [17, 12], t: [17, null] });
  expect(await columns("/last")).toEqual({ id: [5, 6], c: [5, 6] });
});

test("Python computes what windows read", async () => {
  expect(await columns("/of_python")).toEqual({ id: [1, 2, 3, 4, 5, 6], s: [17, 12, 12, 10, 8, 1] });
});

test("distinct values, samples, single rows and no rows have windows", async () => {
  expect(await rows("/different")).toEqual([{ c: 1 }, { c: 2 }, { c: 3 }]);
  expect(await columns("/drawn")).toEqual({
    c: expect.arrayContaining([1, 2, 3]),
    t: expect.arrayContaining([1, 2, 3]),
  });
  expect(await Promise.all([1, 2, 6].map((id) => rows(`/one?id=${id}`)))).toEqual(
    [1, 2, 6].map((id) => [{ id, c: 1 }]),
  );
  expect(await rows("/empty")).toEqual([]);
});

test("the error of a window is that of the query", async () => {
  const { json } = await tested.get("/unlucky");
  expect(json).toMatchObject({ code: "function_failed", meta: { column: "t", message: "13 brings bad luck" } });
  expect((await tested.get("/overflow")).json).toMatchObject({
    code: "function_failed",
    meta: { type: "OverflowError" },
  });
});

test("pages continue a query with windows, whose values are those of all rows", async () => {
  const first = await tested.get("/running?page_size=4");
  expect(first.json.rows.map(({ s }: { s: number }) => s)).toEqual([5, 5, 7, 9]);
  const next = /<([^>]+)>/.exec(String(first.headers?.link))?.[1] ?? "";
  const second = await tested.get(`/running${next}`);
  expect(second.json.rows.map(({ s, top }: { s: number; top: number }) => [s, top])).toEqual([
    [16, 7],
    [17, 1],
  ]);
  expect(await tested.get("/in_worker?start=1&page_size=2")).toMatchObject({
    status: 422,
    json: { code: "not_pageable" },
  });
});

test("explains which windows Python computes", async () => {
  const explained = async (query: string) => {
    const { manifest, sql } = tested;
    return explainQuery(sql, { manifest, target: "main", query, params: {}, analyze: false, limits: DEFAULT_LIMITS });
  };
  expect((await explained("running")).parts.filter(({ runs_in }) => runs_in === "Python")).toEqual([]);
  const { parts, statements } = await explained("in_worker");
  expect(parts.filter(({ runs_in }) => runs_in === "Python").map(({ what }) => what)).toEqual([
    "app:total",
    "app:path",
  ]);
  expect(statements).toHaveLength(2);
  expect((await explained("whole")).statements).toHaveLength(4);
});
