import { hash } from "node:crypto";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeQueryCursor } from "../queries/query-cursor.ts";

/** Pages of lists and the other headers of query routes, on a real database. */
let tested: TestApplication;

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
    __indexes__ = [db.BtreeIndex(kind)]


class Kinds(Base, name="kinds"):
    name = db.Column(db.String, primary_key=True)
    rank: db.Int


@db.udf
def same(x: str | None) -> str | None:
    return x


r = Router(name="q", prefix="/v1")
r.add_insert_route(Items, path="/items", outputs=["sku"])


def serve(function, **options):
    marked = db.query(return_scalar=options.pop("scalar", True))(function)
    r.add_query_route(path="/" + function.__name__, query=marked, method=options.pop("method", "get"), **options)
    return marked


def every(): return Items.select(Items.sku)
every = serve(every)
def listed(): return Items.select(Items.sku, Items.n).order_by(Items.n)
listed = serve(listed, scalar=False)
def posted(least: int): return Items.where(Items.n >= least).select(Items.sku).order_by(Items.n, asc=False)
posted = serve(posted, method="post")
def by_kind(): return Items.order_by(Items.kind, asc=False).order_by(Items.n).order_by(Items.price, asc=False).select(Items.sku)
by_kind = serve(by_kind)
def by_price(): return Items.order_by(Items.price).select(Items.sku)
by_price = serve(by_price)
def by_ok(): return Items.order_by(Items.ok).order_by(Items.day, asc=False).select(Items.sku)
by_ok = serve(by_ok)
def by_at(): return Items.order_by(Items.at, asc=False).order_by(Items.tag).select(Items.sku)
by_at = serve(by_at)
def by_value(): return Items.order_by(Items.n / 2).select(Items.sku)
by_value = serve(by_value)
def by_text(): return Items.order_by(Items.kind).select(Items.sku)
by_text = serve(by_text)
def in_python(): return Items.order_by(Items.n).select(same(Items.sku))
in_python = serve(in_python)
def first_of(lim: int, off: int): return Items.order_by(Items.n).select(Items.sku).limit(lim, off)
first_of = serve(first_of)
def joined(): return Items.join(Kinds, on=Items.kind == Kinds.name, how="left").order_by(Kinds.rank).select(Items.sku)
joined = serve(joined)
def counted(): return Items.group_by(Items.kind).select(Items.kind, n=fn.count()).order_by(fn.count(), asc=False)
counted = serve(counted, scalar=False)
def least(n: int = 0): return Items.where(Items.n >= n).order_by(Items.n).select(Items.sku)
least = serve(least)
def drawn(): return Items.sample(n=2).select(Items.sku)
drawn = serve(drawn)
def last(): return Items.order_by(Items.sku).select(Items.sku).tail(2)
last = serve(last)
def different(): return Items.select(Items.kind).distinct()
different = serve(different)
def sorted_in_python(): return Items.order_by(same(Items.sku)).select(Items.sku)
sorted_in_python = serve(sorted_in_python)
def total(): return Items.select(n=fn.sum(Items.n))
total = serve(total)
def one(sku: str): return Items.where(Items.sku == sku).select(Items.n)
one = serve(one, one_row=True, scalar=False)
`;

/** Ties, nulls and extremes in every column. */
const COUNT = 40;
const rowAt = (at: number) => ({
  sku: `s${String(at).padStart(2, "0")}`,
  kind: at % 5 === 0 ? null : `k${at % 3} "ü' \\ ${"x".repeat(at % 2 === 0 ? 700 : 0)}`,
  n: at % 7 === 0 ? null : at % 4,
  price: at % 6 === 0 ? null : [0.1, -0.0, 0, 1e300, 5e-324, 123456.789][at % 6],
  ok: [null, true, false][at % 3],
  day: at % 4 === 0 ? null : `20${10 + (at % 9)}-02-0${1 + (at % 9)}`,
  at: at % 8 === 0 ? null : `2024-01-01T00:00:00.00000${at % 3}Z`,
  tag: at % 2 === 0 ? null : `00000000-0000-4000-8000-0000000000${String(at % 10).padStart(2, "0")}`,
});

beforeAll(async () => {
  tested = await openTestApplication(APP);
  for (let at = 0; at < COUNT; at++) expect((await tested.post("/v1/items", rowAt(at))).status).toBe(200);
  for (let at = 0; at < 2; at++) {
    await tested.sql.query({
      text: "insert into kinds (_row, name, rank) values (uuidv7(), $1, $2)",
      values: [rowAt(at + 1).kind, String(at)],
    });
  }
});

afterAll(async () => {
  await tested?.[Symbol.asyncDispose]();
});

type Page = Awaited<ReturnType<TestApplication["get"]>>;

/** The URL of the next page, as a client resolves the Link. */
function next(path: string, page: Page): string | undefined {
  const link = /^<(.*)>; rel="next"$/.exec(page.headers.link ?? "")?.[1];
  if (link === undefined) return undefined;
  const url = new URL(link, `http://host${path}`);
  return url.pathname + url.search;
}

async function readAll(path: string, onPage?: (page: Page) => Promise<unknown>): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (let at: string | undefined = path; at !== undefined; ) {
    const page: Page = await tested.get(at);
    expect(page.status, page.text).toBe(200);
    rows.push(...(page.json.rows ?? page.json));
    await onPage?.(page);
    at = next(at, page);
  }
  return rows;
}

test.each([
  "every",
  "by_kind",
  "by_price",
  "by_ok",
  "by_at",
  "by_value",
  "by_text",
  "in_python",
  "joined",
  "counted",
  "first_of?lim=25&off=3",
  "first_of?lim=4&off=0",
  "first_of?lim=0&off=0",
  "first_of?lim=8&off=0",
  "least?n=1",
])("the pages of %s together are its rows, for any size", async (query) => {
  const whole = (await tested.get(`/v1/${query}`)).json;
  for (const size of [1, 4, 7, 100]) {
    const paged = await readAll(`/v1/${query}${query.includes("?") ? "&" : "?"}page_size=${size}`);
    expect(paged).toEqual(whole.rows ?? whole);
  }
});

test("a page has its size, the shape of the response, and a Link", async () => {
  const page = await tested.get("/v1/listed?page_size=3");
  expect(page.json.rows).toHaveLength(3);
  expect(page.headers.link).toMatch(/^<\?page_size=3&cursor=[\w.-]+>; rel="next"$/);
  const last = await tested.get(`/v1/listed?page_size=${COUNT}`);
  expect(last.json.rows).toHaveLength(COUNT);
  expect(last.headers.link).toBeUndefined();
  expect((await tested.get("/v1/listed")).headers.link).toBeUndefined();
});

test("a POST takes page_size and cursor in its URL, everything else in its body", async () => {
  const body = { least: 1 };
  const whole = (await tested.post("/v1/posted", body)).json;
  const rows: string[] = [];
  let search = "?page_size=4";
  for (;;) {
    const page = await tested.post(`/v1/posted${search}`, body);
    expect(page.status, page.text).toBe(200);
    rows.push(...page.json);
    const link = next("/v1/posted", page);
    if (link === undefined) break;
    search = link.slice("/v1/posted".length);
  }
  expect(rows).toEqual(whole);
});

test("inserts and deletes between pages neither repeat nor hide other rows", async () => {
  const before = (await tested.get("/v1/least")).json;
  const seen: unknown[] = [];
  let made = 0;
  const rows = await readAll("/v1/least?page_size=5", async (page) => {
    seen.push(...page.json);
    made += 1;
    // One row before the read position, one after it. The row at the cursor is deleted.
    await tested.post("/v1/items", { ...rowAt(1), sku: `a${made}`, n: -1 });
    await tested.post("/v1/items", { ...rowAt(1), sku: `z${made}`, n: 100 });
    await tested.sql.query({ text: "delete from items where sku = $1 and sku like 's%'", values: [page.json.at(-1)] });
  });
  expect(rows.filter((sku) => String(sku).startsWith("s"))).toEqual(before);
  expect(rows.filter((sku) => String(sku).startsWith("a"))).toEqual([]);
  expect(new Set(rows).size).toBe(rows.length);
  await tested.sql.query({ text: "delete from items where sku !~ '^s'" });
  for (let at = 0; at < COUNT; at++) {
    if (seen.includes(rowAt(at).sku)) await tested.post("/v1/items", rowAt(at));
  }
});

test("refuses a changed cursor, or one of another query or parameters", async () => {
  const page = await tested.get("/v1/least?n=1&page_size=2");
  const cursor = /cursor=([^>&]+)/.exec(page.headers.link ?? "")?.[1] ?? "";
  expect((await tested.get(`/v1/least?n=1&cursor=${cursor}`)).json).toHaveLength(2);
  const forged = `${Buffer.from('[2,2,"0","x"]').toString("base64url")}.${cursor.split(".")[1]}`;
  for (const wrong of [
    `/v1/least?n=2&cursor=${cursor}`,
    `/v1/every?cursor=${cursor}`,
    `/v1/least?n=1&cursor=x${cursor}`,
    `/v1/least?n=1&cursor=${forged}`,
    "/v1/least?n=1&cursor=",
    "/v1/least?n=1&cursor=%00.%FF",
  ]) {
    expect(await tested.get(wrong), wrong).toMatchObject({ status: 422, json: { code: "invalid_cursor" } });
  }
});

test.each([
  { keys: ["zzz", "00000000-0000-4000-8000-000000000000"] },
  { keys: ["1", "' or 1=1"] },
  { keys: ["1"] },
  { keys: ["1", "00000000-0000-4000-8000-000000000000", null] },
])("refuses a cursor that was forged with the keys $keys", async ({ keys }) => {
  const least = tested.manifest.queries.find(({ name }) => name === "least");
  const scope = `${hash("sha256", JSON.stringify([least?.id, least?.query]))} 1:1;`;
  const after = (given: readonly (string | null)[]) =>
    tested.get(`/v1/least?n=1&cursor=${writeQueryCursor(scope, 2, { keys: given, returned: 0 })}`);
  expect(await after(["1", "00000000-0000-4000-8000-000000000000"])).toMatchObject({ status: 200 });
  expect(await after(keys)).toMatchObject({ status: 422, json: { code: "invalid_cursor" } });
});

test.each(["0", "-1", "x", "1e3", "100001", "", "9999999999999999999"])("refuses page_size=%s", async (size) => {
  expect(await tested.get(`/v1/every?page_size=${size}`)).toMatchObject({
    status: 422,
    json: { code: "invalid_request", errors: [{ pointer: "/page_size" }] },
  });
});

test.each([
  ["drawn", "samples its rows"],
  ["last", "last rows"],
  ["different", "equal rows"],
  ["sorted_in_python", "function of the application"],
  ["total", "one group"],
])("the query %s has no pages and gives the reason", async (query, why) => {
  expect(await tested.get(`/v1/${query}?page_size=2`)).toMatchObject({
    status: 422,
    json: { code: "not_pageable", detail: expect.stringContaining(why) },
  });
  expect((await tested.get(`/v1/${query}`)).status).toBe(200);
});

test("a route of one row has no pages", async () => {
  expect(await tested.get("/v1/one?sku=s01&page_size=2")).toMatchObject({
    status: 422,
    json: { code: "invalid_request" },
  });
});

test("reports a sort value that a URL cannot carry", async () => {
  await tested.post("/v1/items", { ...rowAt(1), sku: "long", kind: `k0${"y".repeat(5_000)}` });
  const place = (await tested.get("/v1/by_text")).json.indexOf("long");
  expect(await tested.get(`/v1/by_text?page_size=${place}`)).toMatchObject({ status: 200 });
  expect(await tested.get(`/v1/by_text?page_size=${place + 1}`)).toMatchObject({
    status: 422,
    json: { code: "not_pageable", detail: expect.stringContaining("5002 characters") },
  });
  expect(await tested.get(`/v1/by_text?page_size=${place + 2}`)).toMatchObject({ status: 200 });
  await tested.sql.query({ text: "delete from items where sku = 'long'" });
});

test("refuses a query with parameters named like those of pages", async () => {
  const app = APP.replace(
    "def least(n: int = 0): return Items.where(Items.n >= n)",
    "def least(page_size: int = 0): return Items.where(Items.n >= page_size)",
  );
  await expect(tested.serve(app)).rejects.toThrow(/parameter 'page_size'/);
});

test("a client with the current response gets 304; a changed row changes the tag", async () => {
  const first = await tested.get("/v1/one?sku=s01");
  expect(first.headers).toMatchObject({ etag: expect.stringMatching(/^"[\w-]+"$/), "cache-control": "no-cache" });
  const tag = first.headers.etag ?? "";
  for (const known of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
    const again = await tested.get("/v1/one?sku=s01", { headers: { "if-none-match": known } });
    expect([again.status, again.text, again.headers.etag]).toEqual([304, "", tag]);
    expect(again.headers["content-type"]).toBeUndefined();
  }
  expect((await tested.get("/v1/one?sku=s01", { headers: { "if-none-match": '"other"' } })).status).toBe(200);
  await tested.sql.query({ text: "update items set n = 77 where sku = 's01'" });
  const changed = await tested.get("/v1/one?sku=s01", { headers: { "if-none-match": tag } });
  expect([changed.status, changed.json.n]).toEqual([200, 77]);
  await tested.sql.query({ text: "update items set n = 1 where sku = 's01'" });
});

test("Prefer: timing returns where the time went", async () => {
  const timed = { headers: { prefer: "timing" } };
  const parts = /^db;dur=(\d+\.\d\d), py;dur=(\d+\.\d\d), total;dur=(\d+\.\d\d)$/;
  const numbers = async (path: string) => {
    const { headers } = await tested.get(path, timed);
    expect(headers["server-timing"]).toMatch(parts);
    return (parts.exec(headers["server-timing"] ?? "") ?? []).slice(1).map(Number);
  };
  const [db = 0, py = 0, total = 0] = await numbers("/v1/in_python");
  expect(db).toBeGreaterThan(0);
  expect(py).toBeGreaterThan(0);
  expect(db + py).toBeLessThanOrEqual(total + 0.02);
  expect((await numbers("/v1/one?sku=s01"))[1]).toBe(0);
  expect((await numbers("/v1/sorted_in_python"))[1]).toBeGreaterThan(0);
  const stored = await tested.post("/v1/items", { ...rowAt(1), sku: "timed" }, timed);
  expect(Number(parts.exec(stored.headers["server-timing"] ?? "")?.[1])).toBeGreaterThan(0);
  expect((await tested.get("/v1/every")).headers["server-timing"]).toBeUndefined();
});

test("a shared run is cancelled only when its last reader leaves", async () => {
  await tested.sql.query({
    text: "insert into items (_row, sku, n) select uuidv7(), 'b' || i, i from generate_series(1, 3000) i",
  });
  const app = APP.replace(
    "def total(): return Items.select(n=fn.sum(Items.n))",
    "def total(): return Items.join(Kinds, how='cross').join(Other, how='cross').select(n=fn.count())",
  ).replace(
    "class Kinds(",
    'class Other(Base, name="other"):\n    o = db.Column(db.Int, primary_key=True)\n\n\nclass Kinds(',
  );
  await tested.update(app);
  await tested.sql.query({ text: "insert into other (_row, o) select uuidv7(), i from generate_series(1, 20000) i" });
  await using served = await tested.serve(app);
  const running = async () => {
    const found = await tested.sql.query({
      text: "select count(*) from pg_stat_activity where state = 'active' and query like '%cross join%' and pid <> pg_backend_pid() and backend_type = 'client backend'",
    });
    return Number(found.rows[0]?.[0]);
  };
  const clients = Array.from({ length: 4 }, () => new AbortController());
  const answers = clients.map(({ signal }) => served.get("/v1/total", { signal }));
  // Two run; the other two share the third, which is next.
  await expect.poll(running).toBe(2);
  clients[2]?.abort();
  clients[0]?.abort();
  expect((await answers[0])?.json.code).toBe("interrupted");
  await expect.poll(running).toBe(2);
  clients[3]?.abort();
  clients[1]?.abort();
  await Promise.all(answers);
  // PostgreSQL reports the end before the statement's parallel workers have exited.
  await expect.poll(running).toBe(0);
});
