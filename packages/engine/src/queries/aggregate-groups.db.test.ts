import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, expect, test } from "vitest";
import { explainQuery } from "../endpoints/explain-query.ts";

/** Application aggregates in queries, with real PostgreSQL and real workers. */
const APP = `
import appdb as db
import appdb.functions as fn
from appdb.serving import Router

Base = db.model_base()


class Items(Base, name="items"):
    sku = db.Column(db.String, primary_key=True)
    kind: db.String | None
    n: db.Int | None
    at: db.Timestamp | None


class Kinds(Base, name="kinds"):
    name = db.Column(db.String, primary_key=True)
    title: db.String


@db.udf
def same(x: str | None) -> str | None:
    return x


@db.uda
class spread(db.Aggregator):
    """How far the values lie apart."""

    def __init__(self, least: int = 0):
        self.least = least
        self.seen = []

    def update(self, value: int):
        if value == 13:
            raise ValueError("13 brings bad luck")
        self.seen.append(value)

    def value(self) -> int | None:
        if len(self.seen) == 1:
            raise LookupError("one value has no spread")
        return max(self.seen) - min(self.seen) + self.least if self.seen else None


@db.uda
class joined(db.Aggregator):
    def __init__(self, by: str = "-"):
        self.by = by
        self.parts = []

    def update(self, text: str, n: int | None):
        self.parts.append(text if n is None else f"{text}{n}")

    def value(self) -> str:
        return self.by.join(self.parts)


@db.uda
class latest(db.Aggregator):
    def __init__(self, since: db.Timestamp | None = None):
        self.found = since

    def update(self, at: db.Timestamp):
        self.found = at if self.found is None else max(self.found, at)

    def value(self) -> db.Timestamp | None:
        return self.found


r = Router(name="q")
r.add_insert_route(Items, path="/items", inputs=["sku", "kind", "n", "at"])


def serve(function):
    marked = db.query(function)
    r.add_query_route(path="/" + function.__name__, query=marked, method="get")
    return marked


def whole(): return Items.select(s=spread(Items.n))
whole = serve(whole)
def mixed(): return Items.where(Items.n > 0).group_by(Items.kind).select(Items.kind, s=spread(Items.n), c=fn.count(), t=fn.sum(Items.n), j=joined(Items.sku, Items.n)).order_by(Items.kind)
mixed = serve(mixed)
def by_kind(kind: str, least: int = 0): return Items.where(Items.kind == kind).select(s=spread(Items.n, least=least))
by_kind = serve(by_kind)
def set_apart(by: str): return Items.where(Items.n < 10).select(j=joined(Items.sku, Items.n, by=by))
set_apart = serve(set_apart)
def since(at: db.Timestamp): return Items.select(l=latest(Items.at, since=at))
since = serve(since)
def widest(): return Items.group_by(Items.kind).select(Items.kind, twice=spread(Items.n) * 2).order_by(spread(Items.n), asc=False).limit(2)
widest = serve(widest)
def through_python(): return Items.where(same(Items.kind) != "c").group_by(same(Items.kind)).select(k=same(Items.kind), s=spread(Items.n)).order_by(same(Items.kind))
through_python = serve(through_python)
def after(): return Items.group_by(Items.kind).select(up=same(joined(Items.sku, None)), kind=Items.kind).order_by(Items.kind)
after = serve(after)
def over_join(): return Kinds.join(Items, on=Kinds.name == Items.kind, how="left").group_by(Kinds.title).select(Kinds.title, s=spread(Items.n), c=fn.count(Items.sku)).order_by(Kinds.title)
over_join = serve(over_join)
def drawn(): return Items.sample(n=5, seed=3).select(j=joined(Items.sku, None), c=fn.count())
drawn = serve(drawn)
def drawn_anew(): return Items.sample(fraction=0.5).group_by(Items.kind).select(Items.kind, j=joined(Items.sku, None), c=fn.count())
drawn_anew = serve(drawn_anew)
def none(): return Items.where(Items.n > 10 ** 9).group_by(Items.kind).select(Items.kind, s=spread(Items.n))
none = serve(none)
def unlucky(): return Items.where(Items.kind == "bad").group_by(Items.kind).select(Items.kind, s=spread(Items.n + 14))
unlucky = serve(unlucky)
def lonely(): return Items.where(Items.sku == "a1").select(s=spread(Items.n))
lonely = serve(lonely)
`;

let tested: TestApplication;

beforeAll(async () => {
  tested = await openTestApplication(APP, { rows_in_flight: 1_000 });
  const rows: [string, string | null, number | null, string | null][] = [
    ["a1", "a", 5, "2024-01-01 00:00:00.25+00"],
    ["a2", "a", 9, "2024-03-01 00:00:00+00"],
    ["b1", "b", 1, null],
    ["b2", "b", null, null],
    ["b3", "b", 8, null],
    ["c1", "c", 20, null],
    ["c2", "c", 21, null],
    ["x1", null, 2, null],
    ["x2", null, 2, null],
    ["bad1", "bad", -1, null],
    ["bad2", "bad", -1, null],
  ];
  for (const row of rows) {
    const text = "insert into items (_row, sku, kind, n, at) values (uuidv7(), $1, $2, $3, $4)";
    await tested.sql.query({ text, values: row });
  }
  await tested.sql.query({
    text: "insert into kinds (_row, name, title) values (uuidv7(), 'a', 'A'), (uuidv7(), 'b', 'B'), (uuidv7(), 'z', 'Z')",
  });
});

afterAll(() => tested[Symbol.asyncDispose]());

async function rows(path: string): Promise<unknown> {
  const { json, status } = await tested.get(path);
  expect({ status, json }).toMatchObject({ status: 200 });
  return json.rows;
}

test("an application aggregate works next to sum and count, with nulls", async () => {
  expect(await rows("/mixed")).toEqual([
    { kind: "a", s: 4, c: 2, t: 14, j: "a15-a29" },
    { kind: "b", s: 7, c: 2, t: 9, j: "b11-b38" },
    { kind: "c", s: 1, c: 2, t: 41, j: "c120-c221" },
    { kind: null, s: 0, c: 2, t: 4, j: "x12-x22" },
  ]);
  expect(await rows("/whole")).toEqual([{ s: 22 }]);
});

test("settings are query parameters of any type, with all digits", async () => {
  expect(await rows("/by_kind?kind=a")).toEqual([{ s: 4 }]);
  expect((await tested.get("/by_kind?kind=a&least=9007199254740993")).text).toBe('{"rows":[{"s":9007199254740997}]}');
  expect(await rows("/set_apart?by=%20%22%20")).toEqual([{ j: 'a15 " a29 " b11 " b38 " x12 " x22 " bad1-1 " bad2-1' }]);
  expect(await rows("/since?at=2024-02-01T00:00:00Z")).toEqual([{ l: "2024-03-01T00:00:00Z" }]);
  expect(await rows("/since?at=2025-02-01T00:00:00.5Z")).toEqual([{ l: "2025-02-01T00:00:00.500000Z" }]);
});

test("groups are sorted, limited and computed by aggregate values", async () => {
  expect(await rows("/widest")).toEqual([
    { kind: "b", twice: 14 },
    { kind: "a", twice: 8 },
  ]);
  expect(await rows("/after")).toEqual([
    { up: "a1-a2", kind: "a" },
    { up: "b1-b2-b3", kind: "b" },
    { up: "bad1-bad2", kind: "bad" },
    { up: "c1-c2", kind: "c" },
    { up: "x1-x2", kind: null },
  ]);
});

test("keys and conditions in Python are computed first", async () => {
  expect(await rows("/through_python")).toEqual([
    { k: "a", s: 4 },
    { k: "b", s: 7 },
    { k: "bad", s: 0 },
  ]);
});

test("rows missing in an outer join are nulls, which the aggregate skips", async () => {
  expect(await rows("/over_join")).toEqual([
    { title: "A", s: 4, c: 2 },
    { title: "B", s: 7, c: 3 },
    { title: "Z", s: null, c: 0 },
  ]);
});

test("without rows there is one group without keys, none with keys", async () => {
  expect(await rows("/by_kind?kind=nothing")).toEqual([{ s: null }]);
  expect(await rows("/none")).toEqual([]);
});

test("both kinds of aggregates see the same sample, with or without a seed", async () => {
  const [drawn] = (await rows("/drawn")) as { j: string; c: number }[];
  expect([drawn?.c, drawn?.j.split("-").length]).toEqual([5, 5]);
  expect(await rows("/drawn")).toEqual([drawn]);
  const seen = new Set<string>();
  for (let time = 0; time < 12; time++) {
    const groups = (await rows("/drawn_anew")) as { j: string; c: number }[];
    for (const { j, c } of groups) expect(j.split("-")).toHaveLength(c);
    seen.add(JSON.stringify(groups));
  }
  expect(seen.size).toBeGreaterThan(1);
});

test("a raising update() is reported with query, column, group and function", async () => {
  const { status, json } = await tested.get("/unlucky");
  expect({ status, json }).toMatchObject({
    status: 400,
    json: {
      code: "function_failed",
      detail: expect.stringContaining(
        'The query unlucky, column s of the group kind = "bad": app:spread raised ValueError: 13 brings bad luck',
      ),
      meta: { query: "unlucky", column: "s", group: { kind: "bad" }, function: "app:spread", type: "ValueError" },
    },
  });
});

test("a raising value() is reported in the same way", async () => {
  const { status, json } = await tested.get("/lonely");
  expect({ status, json }).toMatchObject({
    status: 400,
    json: {
      code: "function_failed",
      detail: expect.stringContaining("The query lonely, column s: app:spread raised LookupError: one value"),
      meta: { column: "s", group: {}, function: "app:spread" },
    },
  });
});

test("the plan shows which aggregates the application computes", async () => {
  const { parts, statements } = await explainQuery(tested.sql, {
    manifest: tested.manifest,
    target: "main",
    query: "mixed",
    params: {},
    analyze: false,
    limits: DEFAULT_LIMITS,
  });
  expect(statements).toHaveLength(3);
  expect(parts.filter(({ runs_in: runsIn }) => runsIn === "Python")).toEqual([
    ...["app:spread", "app:joined"].map((what) => ({
      clause: "aggregates",
      runs_in: "Python",
      what,
      why: `${what} is an aggregate of the application`,
    })),
  ]);
  expect(parts).toContainEqual({ clause: "select", runs_in: "SQL", what: "kind, c, t", why: null });
});

test("rows are streamed: only the groups count as held", async () => {
  await tested.sql.query({
    text: `insert into items (_row, sku, kind, n)
      select uuidv7(), 'm' || i, 'many', i + 100 from generate_series(1, 20000) i`,
  });
  tested.statements();
  expect(await rows("/by_kind?kind=many")).toEqual([{ s: 19_999 }]);
  const fetches = tested.statements().filter(({ text }) => text.startsWith("fetch"));
  // a small one first, and an empty one last
  expect(fetches).toHaveLength(42);
});

test("a table that changes before the read is read in its new shape", async () => {
  await tested.update(APP.replace("n: db.Int | None", "n: db.Int | None\n    note: db.String | None"));
  expect(await rows("/by_kind?kind=a")).toEqual([{ s: 4 }]);
});
