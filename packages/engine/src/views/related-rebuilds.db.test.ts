import { eventually } from "@appdb/testkit/eventually";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import { afterEach, expect, test } from "vitest";
import { cancelJob } from "../background/list-jobs.ts";

/** A view of words, and a view over its rows. The first fails where its text is bad. */
const appWith = ({ least = 1, most = 5, bad = "-" } = {}) => `
from typing import Iterator, TypedDict

import appdb as db
from appdb.serving import Router

Base = db.model_base()

class Part(TypedDict):
    word: str

@db.iterator
def parts(text: str, least: int = 1) -> Iterator[Part]:
    if text == "${bad}":
        raise ValueError("bad text")
    for word in text.split():
        if len(word) >= least:
            yield {"word": word}

@db.udf
def shouted(text: str) -> str:
    return text.upper() + "!"

class Doc(Base, name="docs"):
    n = db.Column(type=db.Int, primary_key=True)
    body: db.String

class W(Base, name="words", base=Doc, iterator=parts(Doc.body, least=${least})):
    pass

class Short(Base, name="short", base=W.where(W.pos < ${most})):
    loud = shouted(W.word)

@db.query
def words():
    return W.order_by(W.n, W.pos).select(W.n, W.word)

@db.query
def short():
    return Short.order_by(Short.n, Short.pos).select(Short.n, Short.loud)

api = Router(name="api")
api.add_insert_route(Doc, path="/add")
for each in (words, short):
    api.add_query_route(path=f"/{each.__name__}", query=each, method="get")
`;

const NEXT = { least: 3, most: 2 };

let tested: TestApplication;
const closing: AsyncDisposable[] = [];

afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one[Symbol.asyncDispose]();
  await tested?.[Symbol.asyncDispose]();
});

const rows = async (text: string) => (await tested.sql.query({ text })).rows;

async function answers(served: Pick<TestApplication, "get"> = tested): Promise<string> {
  const found: string[] = [];
  for (const path of ["/words", "/short"]) {
    const { status, json, text } = await served.get(path);
    expect(status, text).toBe(200);
    found.push(json.rows.map((row: object) => Object.values(row).join(" ")).join(", "));
  }
  return found.join(" | ");
}

async function open(): Promise<string> {
  tested = await openTestApplication(appWith({ most: 1 }));
  const { status, text } = await tested.post("/add", [
    { n: 0, body: "of all bread" },
    { n: 1, body: "good rye" },
  ]);
  expect(status, text).toBe(200);
  return answers();
}

/** Runs the jobs of an update, one of which ends with an error. Returns it, and the states of the jobs in order. */
async function endOf(update: Parameters<typeof appWith>[0]): Promise<{ error: unknown; states: unknown }> {
  const jobs = await tested.update(appWith(update));
  expect(jobs).toHaveLength(2);
  return { error: await errorOf(jobs), states: await statesOf(jobs) };
}

const errorOf = (jobs: readonly string[]) =>
  tested.finish(jobs).then(
    () => undefined,
    (error: unknown) => error,
  );

async function statesOf(jobs: readonly string[]): Promise<unknown> {
  const list = jobs.map((id) => `'${id}'`).join(", ");
  return rows(`select table_name, state, error ->> 'detail' from appdb.jobs where id in (${list}) order by seq`);
}

/** Both views are as before the update, which then succeeds without the error. */
async function expectNeither(before: string): Promise<void> {
  expect(await answers()).toBe(before);
  expect(await shadows()).toEqual([["0"]]);
  expect((await tested.diff(appWith({ most: 1 }))).in_agreement).toBe(true);
  await tested.finish(await tested.update(appWith(NEXT)));
  await expectBoth();
}

async function expectBoth(): Promise<void> {
  const newer = await tested.serve(appWith(NEXT));
  closing.push(newer);
  expect(await answers(newer)).toBe("0 all, 0 bread, 1 good, 1 rye | 0 ALL!, 0 BREAD!, 1 GOOD!, 1 RYE!");
  expect((await tested.diff(appWith(NEXT))).in_agreement).toBe(true);
  expect(await shadows()).toEqual([["0"]]);
}

const shadows = () => rows("select count(*) from pg_attribute where attname like '#shadow%' and not attisdropped");

test("a view and a view over its rows change in one update", async () => {
  await open();
  const { error } = await endOf(NEXT);
  expect(error).toBeUndefined();
  await expectBoth();
});

test("if the rows of a view cannot be made, a view over them keeps its rows, too", async () => {
  const before = await open();
  const { error, states } = await endOf({ ...NEXT, bad: "good rye" });
  const reason = /app:parts failed with ValueError: bad text .*The view keeps its previous rows\./;
  expect(error).toMatchObject({ code: "fill_failed", message: expect.stringMatching(reason) });
  expect(error).toMatchObject({
    message: expect.stringContaining("The job of the same update on words stops, too."),
  });
  expect(states).toEqual([
    ["docs", "failed", expect.stringMatching(reason)],
    [
      "words",
      "failed",
      expect.stringMatching(
        /^The views over words keep their previous rows, because the fill of table docs of the same update .*bad text/,
      ),
    ],
  ]);
  await expectNeither(before);
});

test.each([
  { which: "first", at: 0 },
  { which: "second", at: 1 },
])("a cancellation of the $which job leaves both views as they were", async ({ at }) => {
  const before = await open();
  const jobs = await tested.update(appWith(NEXT));
  await cancelJob(tested.sql, { now: Date.now }, jobs[at] ?? "");
  expect(await errorOf(jobs)).toMatchObject({ code: "job_cancelled" });
  expect(await statesOf(jobs)).toEqual([
    ["docs", "cancelled", expect.stringContaining("its views keep their previous rows and values")],
    ["words", "cancelled", expect.stringContaining("The views over words keep their previous rows")],
  ]);
  await expectNeither(before);
});

test("a second job that ends after the first says that the first has its rows", async () => {
  await open();
  const jobs = await tested.update(appWith(NEXT));
  await rows(`update appdb.jobs set is_cancelled = true where id = '${jobs[1]}'`);
  expect(await errorOf(jobs)).toMatchObject({
    code: "job_cancelled",
    message:
      "The fill of table words was cancelled: its views keep their previous rows and values. " +
      "The job of the same update on docs has ended before: its views have their new rows.",
  });
  expect(await answers()).toBe("0 all, 0 bread, 1 good, 1 rye | 0 ALL!, 1 GOOD!");
  await tested.finish(await tested.update(appWith(NEXT)));
  await expectBoth();
});

test("a job that another one stops during its last transaction does not put its rows in place", async () => {
  const before = await open();
  const jobs = await tested.update(appWith(NEXT));
  let ended: Promise<unknown> = Promise.resolve();
  await tested.sql.transaction(async (writer) => {
    await writer.query({ text: "lock table docs in row exclusive mode" });
    ended = errorOf(jobs);
    await eventually(async () => {
      expect(await rows(`select rows_done from appdb.jobs where id = '${jobs[0]}'`)).toEqual([["2"]]);
    });
    // As the failed second job does in another process.
    const error = { code: "fill_failed", detail: "The second job failed.", hint: "Try again.", meta: {} };
    await rows(`update appdb.jobs set undoing = '${JSON.stringify(error)}' where id = '${jobs[0]}'`);
  });
  expect(await ended).toMatchObject({
    code: "fill_failed",
    message: "The second job failed. The job of the same update on words stops, too.",
  });
  await expectNeither(before);
});
