import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { openQueriesStage, type QueriesStage } from "@appdb/testkit/queries-stage";
import { afterAll, beforeAll, expect, test } from "vitest";
import { explainQuery } from "./explain-query.ts";

/** Every verb of a query over a real database, through routes; SQL's answers against Python's where both can give one. */
const APP = `
import appdb as db
import appdb.functions as fn
from appdb.serving import Router

Base = db.model_base()


class Items(Base, name="items"):
    sku = db.Column(db.String, primary_key=True)
    kind: db.String | None
    n: db.Int | None
    price: db.Float | None
    ok: db.Bool | None
    day: db.Date | None
    at: db.Timestamp | None
    tag: db.UUID | None
    doc: db.Json | None
    half = n / 2
    __indexes__ = [db.BtreeIndex(kind)]


class Kinds(Base, name="kinds"):
    name = db.Column(db.String, primary_key=True)
    rank: db.Int


@db.udf
def same(x: str | None) -> str | None:
    return x


@db.udf
def same_int(x: int | None) -> int | None:
    return x


@db.udf
def yes(x: str) -> bool:
    return True


@db.udf
def fails(x: int) -> int:
    raise ValueError(f"no {x}")


r = Router(name="q")
r.add_insert_route(Items, path="/items", inputs=["sku", "kind", "n", "price", "ok", "day", "at", "tag", "doc"])
r.add_insert_route(Kinds, path="/kinds")


def serve(function, **options):
    marked = db.query(return_scalar=options.pop("scalar", False))(function)
    r.add_query_route(path="/" + function.__name__, query=marked, method="get", **options)
    return marked


def every(): return Items
every = serve(every)
def by_sku(sku: str): return Items.where(Items.sku == sku).select(Items.n, Items.sku, up=fn.upper(Items.sku))
by_sku = serve(by_sku, one_row=True)
def by_kind(kind: str): return Items.where(Items.kind == kind).select(Items.sku)
by_kind = serve(by_kind, scalar=True)
def from_kind(kind: str): return Items.where(Items.kind >= kind).order_by(Items.kind).select(Items.kind)
from_kind = serve(from_kind, scalar=True)
def one_of_kind(kind: str): return Items.where(Items.kind == kind)
one_of_kind = serve(one_of_kind, one_row=True)
def maybe(kind: str = "", n: int | None = None):
    return Items.where(((kind == "") | (Items.kind == kind)) & ((n == None) | (Items.n == n))).select(Items.sku)
maybe = serve(maybe, scalar=True)
def ordered(asc_first: int = 0, lim: int = 100, off: int = 0):
    return Items.order_by(Items.n).order_by(Items.sku, asc=False).select(Items.sku).limit(lim, off)
ordered = serve(ordered, scalar=True)
def ordered_desc(): return Items.select(Items.sku).order_by(Items.n, asc=False)
ordered_desc = serve(ordered_desc, scalar=True)
def ordered_python(lim: int = 100): return Items.order_by(same_int(Items.n)).order_by(same(Items.sku), asc=False).select(Items.sku).limit(lim)
ordered_python = serve(ordered_python, scalar=True)
def filtered_python(n: int): return Items.where(yes(Items.sku) & (Items.n > n)).order_by(Items.sku).select(Items.sku)
filtered_python = serve(filtered_python, scalar=True)
def filtered(n: int): return Items.where(Items.n > n).order_by(Items.sku).select(Items.sku)
filtered = serve(filtered, scalar=True)
def first_filtered_python(lim: int, off: int = 0): return Items.where(yes(Items.sku)).select(Items.sku).limit(lim, off)
first_filtered_python = serve(first_filtered_python, scalar=True)
def head(): return Items.order_by(Items.sku).select(Items.sku).head(2)
head = serve(head, scalar=True)
def tail(n: int = 2): return Items.order_by(Items.sku).select(Items.sku).tail(n)
tail = serve(tail, scalar=True)
def tail_python(n: int = 2): return Items.order_by(same(Items.sku)).select(Items.sku).tail(n)
tail_python = serve(tail_python, scalar=True)
def total(): return Items.where(Items.n > 0).count()
total = serve(total, scalar=True, one_row=True)
def total_python(): return Items.where(yes(Items.sku)).count()
total_python = serve(total_python, scalar=True, one_row=True)
def groups(): return Items.group_by(Items.kind).select(Items.kind, fn.count(), total=fn.sum(Items.n), low=fn.min(Items.sku), high=fn.max(Items.price), mean=fn.mean(Items.n), skus=fn.make_list(Items.sku), share=fn.sum(Items.n) / fn.count(Items.sku)).order_by(Items.kind)
groups = serve(groups)
def groups_python(): return Items.group_by(same(Items.kind)).select(same(Items.kind), fn.count(), total=fn.sum(same_int(Items.n)), low=fn.min(same(Items.sku)), high=fn.max(Items.price), mean=fn.mean(Items.n), skus=fn.make_list(Items.sku), share=fn.sum(Items.n) / fn.count(Items.sku)).order_by(same(Items.kind))
groups_python = serve(groups_python)
def groups_by_count(): return Items.group_by(Items.kind).select(Items.kind).order_by(same_int(fn.count(Items.sku)), asc=False).order_by(Items.kind)
groups_by_count = serve(groups_by_count, scalar=True)
def nothing(): return Items.where(Items.n > 1000).select(s=fn.sum(Items.n), c=fn.count(Items.n), r=fn.count(), lo=fn.min(Items.at), m=fn.mean(Items.price), l=fn.make_list(Items.n))
nothing = serve(nothing)
def no_groups(): return Items.where(Items.n > 1000).group_by(Items.kind).select(Items.kind)
no_groups = serve(no_groups, scalar=True)
def extremes(): return Items.select(fn.min(Items.ok), fn.max(Items.ok), fn.max(Items.day), fn.min(Items.at), lists=fn.make_list(Items.price), days=fn.make_list(Items.day), ats=fn.make_list(Items.at))
extremes = serve(extremes, one_row=True)
def too_much(): return Items.select(fn.sum(Items.n * 0 + 9223372036854775807))
too_much = serve(too_much)
def distinct(): return Items.select(Items.kind).distinct()
distinct = serve(distinct, scalar=True)
def distinct_desc(): return Items.order_by(Items.kind, asc=False).select(Items.kind).distinct().limit(2)
distinct_desc = serve(distinct_desc, scalar=True)
def distinct_python(): return Items.select(same(Items.kind)).distinct()
distinct_python = serve(distinct_python, scalar=True)
def inner(): return Items.join(Kinds, on=Items.kind == Kinds.name).order_by(Items.sku).select(Items.sku, Kinds.rank)
inner = serve(inner)
def left(): return Items.join(Kinds, on=Items.kind == Kinds.name, how="left").order_by(Items.sku).select(Items.sku, Kinds.rank)
left = serve(left)
def right(): return Items.join(Kinds, on=Items.kind == Kinds.name, how="right").order_by(Kinds.name).order_by(Items.sku).select(Items.sku, Kinds.name)
right = serve(right)
def full(): return Items.join(Kinds, on=Items.kind == Kinds.name, how="full").order_by(Items.sku).order_by(Kinds.name).select(Items.sku, Kinds.name)
full = serve(full)
def cross(): return Items.join(Kinds, how="cross").count()
cross = serve(cross, scalar=True, one_row=True)
def left_python(): return Items.join(Kinds, on=Items.kind == Kinds.name, how="left").where(yes(Items.sku)).order_by(same(Items.sku)).select(same(Items.sku), same_int(Kinds.rank))
left_python = serve(left_python)
def sampled(): return Items.sample(n=3, seed=7).select(Items.sku)
sampled = serve(sampled, scalar=True)
def sampled_python(): return Items.where(yes(Items.sku)).sample(n=3, seed=7).select(Items.sku)
sampled_python = serve(sampled_python, scalar=True)
def fraction(): return Items.sample(fraction=0.5, seed=7).select(Items.sku)
fraction = serve(fraction, scalar=True)
def none_drawn(): return Items.sample(fraction=0).select(Items.sku)
none_drawn = serve(none_drawn, scalar=True)
def grouped_sample(): return Items.sample(n=4, seed=7).select(fn.count())
grouped_sample = serve(grouped_sample, scalar=True)
def signs(): return Items.where(Items.sku == "a").select(m=(0 - Items.n) % 3, d=(0 - Items.n) // 2, c=Items.half)
signs = serve(signs, one_row=True)
def divided(): return Items.order_by(Items.sku).select(10 / Items.n)
divided = serve(divided, scalar=True)
def divided_guarded(): return Items.where((Items.n != 0) & (10 / Items.n > 2)).order_by(Items.sku).select(Items.sku)
divided_guarded = serve(divided_guarded, scalar=True)
def divided_unguarded(): return Items.where(10 / Items.n > 2).order_by(Items.sku).select(Items.sku)
divided_unguarded = serve(divided_unguarded, scalar=True)
def parts(): return Items.where(Items.doc != None).order_by(Items.sku).select(Items.doc.a.b, x=Items.doc["quote ' here"])
parts = serve(parts)
def failing(): return Items.where(Items.n == 3).select(fails(Items.n))
failing = serve(failing)
def values(n: int, price: float, ok: bool, day: db.Date, at: db.Timestamp, tag: db.UUID, doc: db.Json | None = None):
    return Kinds.where(Kinds.name == "k1").select(n=n, price=price, ok=ok, day=day, at=at, tag=tag)
values = serve(values, one_row=True)
def columns_named(limit: str = "x"): return Items.where(Items.sku == "a").select(Items.sku, **{"a'; drop table items; --": Items.n, 'b"': Items.n, "c\\\\": Items.n})
columns_named = serve(columns_named)
def echo(text: str): return Items.where(Items.sku == "a").select(got=text, again=fn.upper(text), eq=Items.sku == text)
echo = serve(echo, one_row=True)
r.add_query_route(path="/every", query=every)
r.add_query_route(path="/by_sku", query=by_sku, one_row=True)
r.add_query_route(path="/maybe", query=maybe)
`;

const ROWS = [
  {
    sku: "a",
    kind: "k1",
    n: 7,
    price: 1.5,
    ok: true,
    day: "2024-02-29",
    at: "2024-01-01T00:00:00Z",
    doc: { a: { b: [1.5] } },
  },
  {
    sku: "b",
    kind: "k1",
    n: -2,
    price: null,
    ok: false,
    day: null,
    at: "2023-12-31T23:00:00-01:30",
    doc: { "quote ' here": 1 },
  },
  { sku: "c", kind: "k2", n: 3, price: 2, ok: null, day: "2020-01-01", at: null, doc: [1] },
  { sku: "d", kind: null, n: 0, price: -0.5, ok: true, day: null, at: null, doc: null },
  { sku: "É", kind: "k9", n: null, price: null, ok: null, day: null, at: null, doc: null },
  { sku: "z", kind: "k2", n: 3, price: 1e20, ok: false, day: null, at: null, doc: null },
] as const;

let stage: QueriesStage;

beforeAll(async () => {
  stage = await openQueriesStage(APP);
  for (const row of ROWS) expect((await stage.post("/items", row)).status).toBe(200);
  for (const [name, rank] of Object.entries({ k1: 1, k2: 2, k3: 3 })) await stage.post("/kinds", { name, rank });
}, 60_000);

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
});

const rows = async (path: string) => {
  const answer = await stage.get(path);
  expect(answer.status, answer.text).toBe(200);
  return answer.json;
};

test("a query without order answers every column of the rows as they were inserted", async () => {
  const { rows: found } = await rows("/every");
  expect(found.map((row: { sku: string }) => row.sku)).toEqual(ROWS.map((row) => row.sku));
  expect(Object.keys(found[0])).toEqual(["sku", "kind", "n", "price", "ok", "day", "at", "tag", "doc", "half"]);
  expect((await stage.post("/every", "")).json.rows).toEqual(found);
  const { text } = await stage.get("/every");
  expect(text).toContain('"price":2.0');
  expect(text).toContain('"at":"2024-01-01T00:30:00Z"');
});

test("one row is the object itself, none is 404, several are 409", async () => {
  expect(await rows("/by_sku?sku=a")).toEqual({ n: 7, sku: "a", up: "A" });
  expect((await stage.post("/by_sku", { sku: "É" })).json).toEqual({ n: null, sku: "É", up: "É" });
  expect(await stage.get("/by_sku?sku=zz")).toMatchObject({ status: 404, json: { code: "row_not_found" } });
  const several = await stage.get("/one_of_kind?kind=k1");
  expect(several).toMatchObject({ status: 409, json: { code: "several_rows", meta: { rows: 2 } } });
});

test("reads by key of many requests are one statement", async () => {
  await stage.get("/by_sku?sku=a");
  stage.statements();
  const skus = Array.from({ length: 40 }, (_none, at) => ROWS[at % ROWS.length]?.sku ?? "");
  const answers = await Promise.all(skus.map((sku) => stage.get(`/by_sku?sku=${encodeURIComponent(sku)}`)));
  expect(answers.map(({ json }) => json.sku)).toEqual(skus);
  expect(stage.statements()).toHaveLength(1);
});

test("equal queries at one time share a run, different ones do not", async () => {
  stage.statements();
  const same = await Promise.all(Array.from({ length: 30 }, () => stage.get("/filtered?n=1")));
  expect(new Set(same.map(({ text }) => text)).size).toBe(1);
  expect(stage.statements().length).toBeLessThanOrEqual(3);
  const [one, two] = await Promise.all([stage.get("/filtered?n=1"), stage.get("/filtered?n=5")]);
  expect([one?.json, two?.json]).toEqual([["a", "c", "z"], ["a"]]);
});

test("where takes values of the request, and leaves conditions out that a default switches off", async () => {
  expect(await rows("/by_kind?kind=k1")).toEqual(["a", "b"]);
  expect(await rows("/by_kind?kind=no")).toEqual([]);
  expect(await rows("/maybe")).toHaveLength(6);
  expect(await rows("/maybe?kind=k2")).toEqual(["c", "z"]);
  expect((await stage.post("/maybe", { n: 3, kind: "k2" })).json).toEqual(["c", "z"]);
  expect((await stage.post("/maybe", { n: null })).json).toHaveLength(6);
  expect(await rows("/from_kind?kind=k2")).toEqual(["k2", "k2", "k9"]);
});

test("the first order is the major one, nulls are last ascending and first descending", async () => {
  expect(await rows("/ordered")).toEqual(["b", "d", "z", "c", "a", "É"]);
  expect(await rows("/ordered?lim=2&off=1")).toEqual(["d", "z"]);
  expect((await rows("/ordered_desc"))[0]).toBe("É");
});

test("what Python must compute gives the same rows as SQL", async () => {
  expect(await rows("/ordered_python")).toEqual(await rows("/ordered"));
  expect(await rows("/ordered_python?lim=3")).toEqual(["b", "d", "z"]);
  expect(await rows("/filtered_python?n=1")).toEqual(await rows("/filtered?n=1"));
  expect(await rows("/first_filtered_python?lim=2&off=1")).toEqual(["b", "c"]);
  expect(await rows("/tail_python")).toEqual(await rows("/tail"));
  expect(await rows("/distinct_python")).toEqual(await rows("/distinct"));
  expect(await rows("/sampled_python")).toEqual(await rows("/sampled"));
  const byPython = await rows("/groups_python");
  const bySql = await rows("/groups");
  expect(byPython.rows.map(({ same: kind, ...rest }: { same: unknown }) => ({ kind, ...rest }))).toEqual(bySql.rows);
});

test("head, tail, count, limit", async () => {
  expect(await rows("/head")).toEqual(["a", "b"]);
  expect(await rows("/tail")).toEqual(["z", "É"]);
  expect(await rows("/tail?n=0")).toEqual([]);
  expect(await rows("/total")).toBe(3);
  expect(await rows("/total_python")).toBe(6);
  expect(await stage.get("/ordered?lim=-1")).toMatchObject({
    status: 422,
    json: { errors: [{ pointer: "/lim", detail: expect.stringContaining("negative") }] },
  });
});

test("groups with aggregates", async () => {
  const answer = await stage.get("/groups");
  expect(answer.json.rows).toEqual([
    { kind: "k1", count: 2, total: 5, low: "a", high: 1.5, mean: 2.5, skus: ["a", "b"], share: 2.5 },
    { kind: "k2", count: 2, total: 6, low: "c", high: 1e20, mean: 3, skus: ["c", "z"], share: 3 },
    { kind: "k9", count: 1, total: null, low: "É", high: null, mean: null, skus: ["É"], share: null },
    { kind: null, count: 1, total: 0, low: "d", high: -0.5, mean: 0, skus: ["d"], share: 0 },
  ]);
  expect(await rows("/groups_by_count")).toEqual(["k1", "k2", "k9", null]);
  expect((await rows("/nothing")).rows).toEqual([{ s: null, c: 0, r: 0, lo: null, m: null, l: [] }]);
  expect(await rows("/no_groups")).toEqual([]);
  const { text } = await stage.get("/extremes");
  expect(JSON.parse(text)).toEqual({
    min: false,
    max: true,
    max_1: "2024-02-29",
    min_1: "2024-01-01T00:00:00Z",
    lists: [1.5, 2, -0.5, 1e20],
    days: ["2024-02-29", "2020-01-01"],
    ats: ["2024-01-01T00:00:00Z", "2024-01-01T00:30:00Z"],
  });
  expect(text).toContain("2.0");
});

test("a sum that does not fit an Int is an error", async () => {
  expect(await stage.get("/too_much")).toMatchObject({ status: 400, json: { code: "function_failed" } });
});

test("distinct rows, in the order that is asked for", async () => {
  expect(await rows("/distinct")).toEqual(["k1", "k2", "k9", null]);
  expect(await rows("/distinct_desc")).toEqual([null, "k9"]);
});

test("inner, left, right, full and cross joins", async () => {
  expect((await rows("/inner")).rows.map(Object.values)).toEqual([
    ["a", 1],
    ["b", 1],
    ["c", 2],
    ["z", 2],
  ]);
  const left = [
    ["a", 1],
    ["b", 1],
    ["c", 2],
    ["d", null],
    ["z", 2],
    ["É", null],
  ];
  expect((await rows("/left")).rows.map(Object.values)).toEqual(left);
  expect((await rows("/left_python")).rows.map(Object.values)).toEqual(left);
  expect((await rows("/right")).rows.map(Object.values)).toEqual([
    ["a", "k1"],
    ["b", "k1"],
    ["c", "k2"],
    ["z", "k2"],
    [null, "k3"],
  ]);
  expect((await rows("/full")).rows).toHaveLength(7);
  expect(await rows("/cross")).toBe(18);
});

test("a sample has as many rows as are asked for, the same for the same seed", async () => {
  const drawn = await rows("/sampled");
  expect(new Set(drawn).size).toBe(3);
  expect(await rows("/sampled")).toEqual(drawn);
  const part = await rows("/fraction");
  expect(await rows("/fraction")).toEqual(part);
  expect(await rows("/none_drawn")).toEqual([]);
  expect(await rows("/grouped_sample")).toEqual([4]);
});

test("-7 % 3 is 2 and -7 // 2 is -4 in a query as in a column; division by zero is an error in both", async () => {
  expect(await rows("/signs")).toEqual({ m: 2, d: -4, c: 3.5 });
  const { json, status } = await stage.get("/divided");
  expect({ status, code: json.code, type: json.meta.type }).toEqual({
    status: 400,
    code: "function_failed",
    type: "ZeroDivisionError",
  });
  expect(json.meta.message).toBe("division by zero");
  expect(await rows("/divided_guarded")).toEqual(["c", "z"]);
  expect((await stage.get("/divided_unguarded")).json.meta.type).toBe("ZeroDivisionError");
});

test("a function that raises is told with its name", async () => {
  const { status, json } = await stage.get("/failing");
  expect({ status, code: json.code, type: json.meta.type, message: json.meta.message }).toEqual({
    status: 400,
    code: "function_failed",
    type: "ValueError",
    message: "no 3",
  });
  expect(json.meta).toMatchObject({ query: "failing", column: "fails", row: 1 });
  expect(json.detail).toContain("column fails of row 1");
});

test("parts of Json values", async () => {
  expect((await rows("/parts")).rows).toEqual([
    { doc_a_b: [1.5], x: null },
    { doc_a_b: null, x: 1 },
    { doc_a_b: null, x: null },
  ]);
});

test("parameters of the URL are converted to their types", async () => {
  const tag = "0189DCF9-7E8B-7000-8000-000000000000";
  const given = `n=-9223372036854775808&price=12&ok=true&day=2024-02-29&at=2024-01-01T02:00:00%2B02:00&tag=${tag}&doc={"a":1}`;
  const { text, status } = await stage.get(`/values?${given}`);
  expect(status, text).toBe(200);
  expect(text).toBe(
    `{"n":-9223372036854775808,"price":12.0,"ok":true,"day":"2024-02-29","at":"2024-01-01T00:00:00Z","tag":"${tag.toLowerCase()}"}`,
  );
  const wrong = await stage.get("/values?n=1.5&price=x&ok=maybe&day=2024-13-01&at=now&tag=1&nn=1");
  expect(wrong.status).toBe(422);
  expect(wrong.json.errors.map((error: { pointer: string }) => error.pointer)).toEqual([
    "/n",
    "/price",
    "/ok",
    "/day",
    "/at",
    "/tag",
    "/nn",
  ]);
  expect((await stage.get("/by_kind?kindd=1")).json.errors[0].detail).toContain('Did you mean "kind"?');
});

const HOSTILE = [
  "'; drop table items; --",
  "\\'; drop table items; --",
  "$1",
  '"; drop table items; --',
  "E'\\047'",
  "{a,b}",
  'a","b',
  "NULL",
  "%' or 1=1 --",
  "\u2019\u02bc'",
];

test("no text of a request becomes part of a statement", async () => {
  for (const text of HOSTILE) {
    const { json } = await stage.get(`/echo?text=${encodeURIComponent(text)}`);
    expect(json).toEqual({ got: text, again: text.toUpperCase(), eq: false });
    expect((await stage.get(`/by_sku?sku=${encodeURIComponent(text)}`)).status).toBe(404);
    expect(await rows(`/by_kind?kind=${encodeURIComponent(text)}`)).toEqual([]);
    expect(await rows(`/filtered_python?n=100`)).toEqual([]);
  }
  expect(await rows("/columns_named")).toEqual({
    rows: [{ sku: "a", "a'; drop table items; --": 7, 'b"': 7, "c\\": 7 }],
  });
  expect(await rows("/total")).toBe(3);
});

test("a text is found by key and by index whatever stands in it", async () => {
  for (const [at, text] of HOSTILE.entries()) {
    expect((await stage.post("/items", { sku: text, kind: `${text}${at}` })).status).toBe(200);
    expect((await rows(`/by_sku?sku=${encodeURIComponent(text)}`)).sku).toBe(text);
    expect(await rows(`/by_kind?kind=${encodeURIComponent(`${text}${at}`)}`)).toEqual([text]);
  }
});

test("an equality on an indexed text is served by its index, one on a key by the key's", async () => {
  await stage.sql.query({
    text: "insert into items (_row, sku, kind) select uuidv7(), 'x' || i, 'kind' || i from generate_series(1, 20000) i",
  });
  await stage.sql.query({ text: "analyze items" });
  stage.statements();
  await stage.get("/by_kind?kind=kind7");
  await stage.get("/by_sku?sku=x7");
  const plans: string[] = [];
  for (const statement of stage.statements()) {
    const { rows: lines } = await stage.sql.query({
      text: `explain ${statement.text}`,
      values: statement.values ?? [],
    });
    plans.push(lines.flat().join("\n"));
  }
  expect(plans[0]).toContain('"items(kind)"');
  expect(plans[1]).toContain('"items.key"');
});

test("explaining a query names its statements, what Python computes and why, and the plan", async () => {
  const explain = (query: string, params: Record<string, string> = {}, analyze = false) =>
    explainQuery(stage.sql, {
      manifest: stage.manifest,
      target: "main",
      query,
      params,
      analyze,
      limits: DEFAULT_LIMITS,
    });
  const plain = await explain("by_kind");
  expect(plain.statements).toHaveLength(1);
  expect(plain.parts.every((part) => part.runs_in === "SQL")).toBe(true);
  expect(plain.plan.join("\n")).toContain('"items(kind)"');
  const measured = await explain("by_kind", { kind: "k1" }, true);
  expect(measured.plan.join("\n")).toMatch(/actual time/);
  const both = await explain("app:filtered_python", { n: "1" });
  expect(both.statements).toHaveLength(2);
  expect(both.parts).toContainEqual({
    clause: "where",
    runs_in: "Python",
    what: "app:yes",
    why: "app:yes is a function of the application",
  });
  await expect(explain("by_kinds")).rejects.toMatchObject({ code: "query_not_found", hint: "Did you mean by_kind?" });
  await expect(explain("by_kind", { kinds: "a" })).rejects.toMatchObject({ code: "invalid_request" });
});
