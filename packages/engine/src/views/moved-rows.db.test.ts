import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@appdb/testkit/eventually";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import type { ServedRoutes } from "@appdb/testkit/test-catalog";
import { afterEach, expect, test } from "vitest";

/** SQL computes all that changes with the conditions of these views. */
const appWith = ({ low = 2, high = 6, parts = "Item.parts" } = {}) => `
import appdb as db
from appdb.functions import upper
from appdb.serving import Router

Base = db.model_base()

class Item(Base, name="items"):
    n = db.Column(type=db.Int, primary_key=True)
    body: db.String
    parts: db.Int
    note: db.String | None
    share = 100 // parts

class Some(Base, name="some", base=Item.where((Item.n >= ${low}) & (Item.n < ${high}))):
    loud = upper(Item.body)
    twice = loud + loud
    each = 12 // ${parts}

class Late(Base, name="late", base=Some.where(Some.n > 3)):
    shown = Some.loud + "!"

@db.query
def some():
    return Some.order_by(Some.n).select(Some.n, Some.twice, Some.each, why=Some.each.errortype)

@db.query
def late():
    return Late.order_by(Late.n).select(Late.n, Late.shown)

api = Router(name="api")
api.add_insert_route(Item, path="/add", on_error="ignore")
api.add_update_route(Item, path="/change", on_error="ignore")
for each in (some, late):
    api.add_query_route(path=f"/{each.__name__}", query=each, method="get")
`;

const COUNT = 10;
const NEXT = { low: 4, high: 9 };

let tested: TestApplication;
const closing: AsyncDisposable[] = [];

afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one[Symbol.asyncDispose]();
  await tested?.[Symbol.asyncDispose]();
});

const rows = async (text: string) => (await tested.sql.query({ text })).rows;

async function open(change: Partial<Record<number, object>> = {}): Promise<void> {
  tested = await openTestApplication(appWith());
  const added = Array.from({ length: COUNT }, (_none, n) => ({ n, body: `a${n}`, parts: 4, ...change[n] }));
  const { status, text } = await tested.post("/add", added);
  expect(status, text).toBe(200);
}

async function answers(served: ServedRoutes = tested): Promise<string> {
  const found: string[] = [];
  for (const path of ["/some", "/late"]) {
    const { status, json, text } = await served.get(path);
    expect(status, text).toBe(200);
    found.push(json.rows.map((row: object) => Object.values(row).join(" ")).join(", "));
  }
  return found.join(" | ");
}

/** What a new service of the next file answers, and that nothing of the job is left. */
async function answersOfNext(): Promise<string> {
  const newer = await tested.serve(appWith(NEXT));
  closing.push(newer);
  expect((await tested.diff(appWith(NEXT))).in_agreement).toBe(true);
  expect(await shadows()).toEqual([["0"]]);
  return answers(newer);
}

const shadows = () => rows("select count(*) from pg_attribute where attname like '#shadow%' and not attisdropped");

/** Counts writes of each row from now on. */
async function countWrites(): Promise<void> {
  for (const text of [
    "create table writes (n bigint)",
    "create function count_write() returns trigger language plpgsql as 'begin insert into writes values (new.n); return null; end'",
    "create trigger writes after update on items for each row execute function count_write()",
  ])
    await rows(text);
}

test("a condition that SQL computes writes only the rows that move, each once", async () => {
  await open();
  await countWrites();
  const jobs = await tested.update(appWith(NEXT));
  expect(await answers()).toBe("2 A2A2 3 , 3 A3A3 3 , 4 A4A4 3 , 5 A5A5 3  | 4 A4!, 5 A5!");
  await tested.finish(jobs);
  expect(await rows("select n from writes order by n")).toEqual([["2"], ["3"], ["6"], ["7"], ["8"]]);
  expect(await rows("select rows_done, rows_total, errors from appdb.jobs order by seq desc limit 1")).toEqual([
    ["5", "5", "0"],
  ]);
  expect(await answersOfNext()).toBe(
    "4 A4A4 3 , 5 A5A5 3 , 6 A6A6 3 , 7 A7A7 3 , 8 A8A8 3  | 4 A4!, 5 A5!, 6 A6!, 7 A7!, 8 A8!",
  );
  expect(
    await rows(`select n from items where num_nonnulls("some.loud", "some.each", "late.shown") > 0 order by n`),
  ).toEqual(["4", "5", "6", "7", "8"].map((n) => [n]));
});

test("a value that SQL refuses ends the job, and the view keeps its rows", async () => {
  await open({ 7: { parts: 0 } });
  const before = await answers();
  const ended = tested.finish(await tested.update(appWith(NEXT)));
  await expect(ended).rejects.toMatchObject({
    code: "fill_failed",
    message: expect.stringMatching(/ZeroDivisionError.*n = 7.*The view keeps its previous rows/),
  });
  expect(await answers()).toBe(before);
  expect(await shadows()).toEqual([["0"]]);
  expect((await tested.diff(appWith())).in_agreement).toBe(true);
});

test("a value that SQL refuses is an error of its cell, if the job ignores errors", async () => {
  await open({ 7: { parts: 0 }, 2: { parts: 0 }, 5: { parts: 0 } });
  const jobs = await tested.update(appWith(NEXT));
  await rows("update appdb.jobs set on_error = 'ignore' where state = 'queued'");
  await tested.finish(jobs);
  expect(await rows("select rows_done, rows_total, errors from appdb.jobs order by seq desc limit 1")).toEqual([
    ["5", "5", "1"],
  ]);
  expect(await answersOfNext()).toBe(
    "4 A4A4 3 , 5 A5A5  ZeroDivisionError, 6 A6A6 3 , 7 A7A7  ZeroDivisionError, 8 A8A8 3  | 4 A4!, 5 A5!, 6 A6!, 7 A7!, 8 A8!",
  );
  expect(
    await rows(`select n, _errors -> 'some.each' is not null from items where _errors is not null order by n`),
  ).toEqual([
    ["2", "f"],
    ["5", "t"],
    ["7", "t"],
  ]);
});

test("a row that enters a view has the error of a failed cell that it reads", async () => {
  tested = await openTestApplication(appWith({ parts: "Item.share" }));
  const added = Array.from({ length: COUNT }, (_none, n) => ({ n, body: `a${n}`, parts: n % 4 === 2 ? 0 : 4 }));
  expect((await tested.post("/add", added)).status).toBe(200);
  const next = appWith({ ...NEXT, parts: "Item.share" });
  const jobs = await tested.update(next);
  await rows("update appdb.jobs set on_error = 'ignore' where state = 'queued'");
  await tested.finish(jobs);
  const newer = await tested.serve(next);
  closing.push(newer);
  expect(await answers(newer)).toBe(
    "4 A4A4 0 , 5 A5A5 0 , 6 A6A6  CellError, 7 A7A7 0 , 8 A8A8 0  | 4 A4!, 5 A5!, 6 A6!, 7 A7!, 8 A8!",
  );
  expect(await shadows()).toEqual([["0"]]);
});

test("rows that services of both versions write before the end have the values of the new view", async () => {
  await open();
  const jobs = await tested.update(appWith(NEXT));
  const newer = await tested.serve(appWith(NEXT));
  closing.push(newer);
  for (const [served, path, body] of [
    [tested, "/change", { n: 2, body: "old leaves" }],
    [newer, "/change", { n: 3, body: "new leaves" }],
    [tested, "/change", { n: 6, body: "old enters" }],
    [newer, "/change", { n: 7, body: "new enters" }],
    [tested, "/change", { n: 4, body: "old stays" }],
    [newer, "/change", { n: 5, note: "new note" }],
    [tested, "/change", { n: 8, note: "old note" }],
  ] as const) {
    const { status, text } = await served.post(path, body);
    expect(status, text).toBe(200);
  }
  await tested.finish(jobs);
  const left = await rows("select id from appdb.jobs where state in ('queued', 'running')");
  await tested.finish(left.flatMap(([id]) => id ?? []));
  expect(await answersOfNext()).toBe(
    "4 OLD STAYSOLD STAYS 3 , 5 A5A5 3 , 6 OLD ENTERSOLD ENTERS 3 , 7 NEW ENTERSNEW ENTERS 3 , 8 A8A8 3  | 4 OLD STAYS!, 5 A5!, 6 OLD ENTERS!, 7 NEW ENTERS!, 8 A8!",
  );
  expect(await rows(`select count(*) from items where _errors is not null`)).toEqual([["0"]]);
  expect(await rows(`select n from items where num_nonnulls("some.loud", "late.shown") > 0 order by n`)).toEqual(
    ["4", "5", "6", "7", "8"].map((n) => [n]),
  );
});

test("a job that is cancelled while it waits for the table leaves the view as it was", async () => {
  await open();
  const before = await answers();
  const jobs = await tested.update(appWith(NEXT));
  let ended: Promise<unknown> = Promise.resolve();
  await tested.sql.transaction(async (writer) => {
    await writer.query({ text: "update items set note = 'held' where n = 0" });
    ended = tested.finish(jobs).catch((error: unknown) => error);
    await eventually(async () => {
      expect(await rows("select state from appdb.jobs order by seq desc limit 1")).toEqual([["running"]]);
    });
    await sleep(300);
    expect(await answers()).toBe(before);
    await rows("update appdb.jobs set is_cancelled = true where state = 'running'");
    await sleep(300);
  });
  expect(await ended).toMatchObject({ code: "job_cancelled" });
  expect(await answers()).toBe(before);
  expect(await shadows()).toEqual([["0"]]);
  expect((await tested.diff(appWith())).in_agreement).toBe(true);
});
