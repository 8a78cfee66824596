import { setTimeout as sleep } from "node:timers/promises";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterEach, expect, test } from "vitest";

/** Limits of queries, and queries whose tables change while the service runs. */
const APP = `
import appdb as db
import appdb.functions as fn
from appdb.serving import Router

Base = db.model_base()


class Items(Base, name="items"):
    sku = db.Column(db.String, primary_key=True)
    n: db.Int
    body: db.String | None
    # more columns


@db.udf
def same(x: int) -> int:
    return x


@db.query(return_scalar=True)
def every(): return Items.order_by(Items.sku).select(Items.sku)
@db.query(return_scalar=True)
def some(lim: int): return Items.order_by(Items.sku).select(Items.sku).limit(lim)
@db.query(return_scalar=True)
def bodies(): return Items.select(Items.body)
@db.query(return_scalar=True)
def by_python(): return Items.order_by(same(Items.n)).select(Items.sku)
@db.query(return_scalar=True)
def slow(): return Items.join(Other, how="cross").select(fn.count())
@db.query
def by_sku(sku: str): return Items.where(Items.sku == sku).select(Items.n)


r = Router(name="q")
for made in (every, some, bodies, by_python, slow, by_sku):
    r.add_query_route(path="/" + made.__name__, query=made, method="get")
`.replace(
  "@db.udf",
  `class Other(Base, name="other"):
    n: db.Int


@db.udf`,
);

let app: TestApplication;
afterEach(async () => {
  await app?.[Symbol.asyncDispose]();
});

async function fill(rows: number): Promise<void> {
  await app.sql.query({
    text: `insert into items (_row, sku, n, body) select uuidv7(), 'i' || lpad(i::text, 6, '0'), i, repeat('x', 100) from generate_series(1, ${rows}) i`,
  });
}

test("a result above the row limit names the limit and its setting", async () => {
  app = await openTestApplication(APP, { result_rows: 10 });
  await fill(11);
  expect(await app.get("/every")).toMatchObject({
    status: 422,
    json: {
      code: "result_too_large",
      detail: expect.stringContaining("more than 10 rows"),
      hint: expect.stringContaining("SERVICE_RESULT_ROWS"),
    },
  });
  expect((await app.get("/some?lim=10")).json).toHaveLength(10);
  expect((await app.get("/some?lim=11")).status).toBe(422);
  expect((await app.get("/some?lim=0")).json).toEqual([]);
});

test("a result above the byte limit is refused, and the connection stays usable", async () => {
  app = await openTestApplication(APP, { result_bytes: 50_000 });
  await fill(5_000);
  for (let time = 0; time < 10; time++) {
    expect(await app.get("/bodies")).toMatchObject({
      status: 422,
      json: { code: "result_too_large", hint: expect.stringContaining("SERVICE_RESULT_BYTES") },
    });
    expect((await app.get("/some?lim=3")).json).toEqual(["i000001", "i000002", "i000003"]);
  }
});

test("queries hold no more rows for Python than the limit", async () => {
  app = await openTestApplication(APP, { rows_in_flight: 600 });
  await fill(600);
  expect((await app.get("/by_python")).json).toHaveLength(600);
  await app.sql.query({ text: "insert into items (_row, sku, n) values (uuidv7(), 'more', 1)" });
  expect(await app.get("/by_python")).toMatchObject({
    status: 422,
    json: { code: "result_too_large", hint: expect.stringContaining("SERVICE_ROWS_IN_FLIGHT") },
  });
});

test("a statement timeout names the limit and its setting", async () => {
  // the statements of the set-up have the same limit
  app = await openTestApplication(APP, { statement_timeout_ms: 3_000 });
  await fill(20_000);
  await app.sql.query({ text: "insert into other (_row, n) select uuidv7(), i from generate_series(1, 20000) i" });
  expect(await app.get("/slow")).toMatchObject({
    status: 504,
    json: {
      code: "query_timeout",
      detail: expect.stringContaining("3000 ms"),
      hint: expect.stringContaining("SERVICE_STATEMENT_TIMEOUT_MS"),
    },
  });
});

test("a disconnect of the client cancels its statement", async () => {
  app = await openTestApplication(APP);
  await fill(20_000);
  await app.sql.query({ text: "insert into other (_row, n) select uuidv7(), i from generate_series(1, 20000) i" });
  const client = new AbortController();
  const answer = app.get("/slow", { signal: client.signal });
  const running = async () => {
    const found = await app.sql.query({
      text: "select count(*) from pg_stat_activity where state = 'active' and query like '%cross join%' and pid <> pg_backend_pid()",
    });
    return Number(found.rows[0]?.[0]);
  };
  while ((await running()) === 0) await sleep(10);
  client.abort();
  expect((await answer).json.code).toBe("interrupted");
  expect(await running()).toBe(0);
  expect((await app.get("/some?lim=1")).json).toHaveLength(1);
});

test("additions do not affect a query; removals give 409", async () => {
  app = await openTestApplication(APP);
  await fill(2);
  expect((await app.get("/every")).json).toHaveLength(2);
  expect((await app.get("/by_sku?sku=i000001")).json.rows).toEqual([{ n: 1 }]);
  await app.update(APP.replace("# more columns", "note: db.String | None"));
  expect((await app.get("/every")).json).toHaveLength(2);
  expect((await app.get("/by_sku?sku=i000002")).json.rows).toEqual([{ n: 2 }]);
  await app.update(
    APP.replace("    body: db.String | None\n", "").replace("Items.select(Items.body)", "Items.select(Items.sku)"),
  );
  expect((await app.get("/every")).json).toHaveLength(2);
  expect((await app.get("/by_sku?sku=i000002")).json.rows).toEqual([{ n: 2 }]);
  expect(await app.get("/bodies")).toMatchObject({
    status: 409,
    json: {
      code: "schema_changed",
      detail: expect.stringContaining("items.body was dropped"),
      hint: expect.stringContaining("cli service update"),
    },
  });
});

test("a dropped table gives 409, for reads by key too", async () => {
  app = await openTestApplication(APP);
  await fill(2);
  expect((await app.get("/by_sku?sku=i000001")).status).toBe(200);
  await app.update(APP.replace('class Items(Base, name="items")', 'class Items(Base, name="goods")'));
  await app.sql.query({ text: "drop table items" });
  await app.sql.query({ text: "delete from appdb.tables where name = 'items'" });
  for (const path of ["/every", "/by_sku?sku=i000001", "/by_python"]) {
    expect(await app.get(path)).toMatchObject({ status: 409, json: { code: "schema_changed" } });
  }
});
