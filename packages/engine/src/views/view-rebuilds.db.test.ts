import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@appdb/testkit/eventually";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import type { ServedRoutes } from "@appdb/testkit/test-catalog";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startRecompute } from "../jobs/plan-recompute.ts";

const LONG = process.env.APPDB_FAULTS === "long";

interface Version {
  readonly stored?: string;
  readonly plain?: string;
  readonly least?: number;
  /** Of the view over the iterator view. */
  readonly longest?: number;
  /** A text for which functions wait until the test releases them. */
  readonly held?: string;
  readonly bad?: string;
  readonly more?: string;
}

/** A view with a stored condition, one whose condition is part of queries, and rows of an iterator and of its rows. */
const appWith = (version: Version = {}) => {
  const {
    stored = "Doc.n % 2 == 0",
    plain = "Doc.n < 6",
    least = 1,
    longest = 1,
    held = "-",
    bad = "-",
    more = "",
  } = version;
  return `
import os
import time
from typing import Iterator, TypedDict

import appdb as db
from appdb.serving import Router

Base = db.model_base()
FOLDER = ${JSON.stringify(folder)}

class Part(TypedDict):
    word: str

def called(name, text):
    with open(os.path.join(FOLDER, name), "a") as log:
        log.write(text + "\\n")
    while text == "${held}" and not os.path.exists(os.path.join(FOLDER, "released")):
        time.sleep(0.02)
    if text == "${bad}":
        raise ValueError("bad text")

@db.iterator
def parts(text: str, least: int = 1) -> Iterator[Part]:
    called("parts", text)
    for word in text.split():
        if len(word) >= least:
            yield {"word": word}

@db.udf
def shouted(text: str) -> str:
    called("shouted", text)
    return text.upper() + "!"

@db.udf
def lengths(text: str) -> db.Array[(2,), db.Float]:
    called("lengths", text)
    return [float(len(text)), 1.0]

class Doc(Base, name="docs"):
    n = db.Column(type=db.Int, primary_key=True)
    body: db.String
    low = Doc_low

class Even(Base, name="even", base=Doc.where(${stored})):
    loud = shouted(Doc.body)
    twice = loud + loud
    __indexes__ = [db.EmbeddingIndex(loud, embedding=lengths)]

class Small(Base, name="small", base=Doc.where(${plain})):
    shout = shouted(Doc.body)

class W(Base, name="words", base=Doc, iterator=parts(Doc.low, least=${least})):
    big = word + "!"

class V(Base, name="letters", base=W, iterator=parts(W.big, least=${longest})):
    pass
${more}
@db.query
def even():
    return Even.order_by(Even.n).select(Even.n, Even.loud, Even.twice, why=Even.loud.errortype)

@db.query
def small():
    return Small.order_by(Small.n).select(Small.n, Small.shout)

@db.query
def words():
    return W.order_by(W.n, W.pos).select(W.n, W.word, W.big)

@db.query
def letters():
    return V.order_by(V.word).select(V.word)

api = Router(name="api")
api.add_insert_route(Doc, path="/add", on_error="ignore")
api.add_update_route(Doc, path="/change", on_error="ignore")
api.add_delete_route(Doc, path="/drop")
for each in (even, small, words, letters):
    api.add_query_route(path=f"/{each.__name__}", query=each, method="get")
`.replace("Doc_low", 'body + ""');
};

let folder: string;
let tested: TestApplication;
const closing: AsyncDisposable[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-rebuild-"));
});

afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one[Symbol.asyncDispose]();
  await tested?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const COUNT = 10;

async function open(version: Version = {}): Promise<void> {
  tested = await openTestApplication(appWith(version));
  const rows = Array.from({ length: COUNT }, (_none, n) => ({ n, body: `a${n} word` }));
  const { status, text } = await tested.post("/add", rows);
  expect(status, text).toBe(200);
  forget();
}

const PATHS = ["/even", "/small", "/words", "/letters"];

async function answers(paths = PATHS, served: ServedRoutes = tested): Promise<string> {
  const found: string[] = [];
  for (const path of paths) {
    const { status, json, text } = await served.get(path);
    expect(status, text).toBe(200);
    found.push(`${path} ${json.rows.map((row: object) => Object.values(row).join(" ")).join(", ")}`);
  }
  return found.join("\n");
}

/** What a view over the same rows gives that was there from the start. */
async function fresh(version: Version, change: (served: ServedRoutes) => Promise<unknown> = async () => {}) {
  const other = await openTestApplication(appWith(version));
  try {
    await other.post(
      "/add",
      Array.from({ length: COUNT }, (_none, n) => ({ n, body: `a${n} word` })),
    );
    await change(other);
    return await answers(PATHS, other);
  } finally {
    await other[Symbol.asyncDispose]();
  }
}

const calls = (name: string): string[] =>
  existsSync(join(folder, name)) ? readFileSync(join(folder, name), "utf8").trim().split("\n") : [];
const forget = (): void => {
  for (const name of ["parts", "shouted", "lengths"]) rmSync(join(folder, name), { force: true });
};
const release = () => writeFileSync(join(folder, "released"), "");
const rows = async (text: string) => (await tested.sql.query({ text })).rows;

/** Waits until a job has written rows. Later ones are held. */
async function untilSomeAreDone(): Promise<void> {
  const done = async () => Number((await rows("select max(rows_done) from appdb.jobs"))[0]?.[0]);
  await eventually(async () => expect(await done()).toBeGreaterThan(0), { timeout_ms: 30_000 });
}

/** Serves the version that was applied, and compares its views with new ones. */
async function expectFresh(version: Version, change?: (served: ServedRoutes) => Promise<unknown>): Promise<void> {
  const { held: _held, ...later } = version;
  const newer = await tested.serve(appWith(later));
  closing.push(newer);
  expect(await answers(PATHS, newer)).toBe(await fresh(later, change));
  expect((await tested.diff(appWith(version))).in_agreement).toBe(true);
  expect(await rows("select count(*) from pg_attribute where attname like '#shadow%' and not attisdropped")).toEqual([
    ["0"],
  ]);
  expect(await rows("select count(*) from docs where _errors is not null")).toEqual([["0"]]);
  expect(await rows("select count(*) from appdb.views where definition::text like '%\"next\"%'")).toEqual([["0"]]);
}

/** The first three change everything. */
const CHANGES: readonly { readonly what: string; readonly to: Version }[] = [
  { what: "all of them", to: { stored: "Doc.n % 3 == 0", plain: "Doc.n >= 3", least: 3 } },
  { what: "an iterator over made rows", to: { longest: 4 } },
  { what: "a stored condition that queries have from then on", to: { stored: "Doc.n > 3" } },
  { what: "a stored condition", to: { stored: "Doc.n % 3 == 0" } },
  { what: "a condition that queries have", to: { plain: "Doc.n >= 3" } },
  { what: "a condition that is stored from then on", to: { plain: "Doc.n % 3 == 0" } },
  { what: "an argument of an iterator", to: { least: 3 } },
];
const TRIED = LONG ? CHANGES : CHANGES.slice(0, 3);

test.each(TRIED)("queries give the previous rows until a job has computed $what", async ({ to }) => {
  await open();
  const before = await answers();
  const held = { ...to, held: to.longest === undefined ? `a${COUNT - 1} word` : `a${COUNT - 1}!` };
  const jobs = await tested.update(appWith(held));
  expect(await answers()).toBe(before);
  expect((await tested.diff(appWith(held))).in_agreement).toBe(true);
  const ended = tested.finish(jobs);
  await untilSomeAreDone();
  expect(await rows("select count(*) from appdb.jobs where state in ('queued', 'running')")).not.toEqual([["0"]]);
  expect(await answers()).toBe(before);
  release();
  await ended;
  await expectFresh(held);
  const { status, text } = await tested.post("/add", { n: 100, body: "one more" });
  // The previous service computes its columns from a condition that is not stored any more.
  expect(status, text).toBe(to.stored === "Doc.n > 3" ? 409 : 200);
});

test("functions run only for the rows that a changed condition moves", async () => {
  await open();
  await tested.finish(await tested.update(appWith({ stored: "Doc.n % 4 == 0" })));
  expect(calls("shouted")).toEqual([]);
  expect(calls("lengths")).toEqual([]);
  await tested.finish(await tested.update(appWith({ stored: "Doc.n % 4 < 2" })));
  expect(calls("shouted").sort()).toEqual(["a1 word", "a5 word", "a9 word"]);
  expect(calls("lengths").sort()).toEqual(["A1 WORD!", "A5 WORD!", "A9 WORD!"]);
  forget();
  await tested.finish(await tested.update(appWith({ stored: "Doc.n % 4 < 2", plain: "Doc.n < 8" })));
  expect(calls("shouted").sort()).toEqual(["a6 word", "a7 word"]);
  expect(calls("parts")).toEqual([]);
  expect(await rows("select kind, rows_total from appdb.jobs order by seq desc limit 1")).toEqual([["fill", "2"]]);
  await expectFresh({ stored: "Doc.n % 4 < 2", plain: "Doc.n < 8" });
});

test.each(["cancelled", "failed"] as const)("a rebuild that is %s leaves the views as they were", async (how) => {
  await open();
  const before = await answers();
  const text = `a${COUNT - 1} word`;
  const to = { stored: "Doc.n % 3 == 0", plain: "Doc.n >= 3", least: 3 };
  const broken = appWith({ ...to, held: text, ...(how === "failed" ? { bad: text } : {}) });
  const jobs = await tested.update(broken);
  const ended = tested.finish(jobs).then(
    () => undefined,
    (error: unknown) => error,
  );
  await untilSomeAreDone();
  if (how === "cancelled")
    await tested.sql.query({ text: "update appdb.jobs set is_cancelled = true where state = 'running'" });
  release();
  expect(await ended).toMatchObject(
    how === "failed"
      ? { code: "fill_failed", message: expect.stringContaining("The view keeps its previous rows") }
      : {
          code: "job_cancelled",
          message: "The fill of table docs was cancelled: its views keep their previous rows and values.",
        },
  );
  expect(await answers()).toBe(before);
  expect(await rows("select count(*) from pg_attribute where attname like '#shadow%' and not attisdropped")).toEqual([
    ["0"],
  ]);
  expect((await tested.diff(appWith())).in_agreement).toBe(true);
  expect((await tested.diff(appWith(to))).in_agreement).toBe(false);
  await tested.finish(await tested.update(appWith(to)));
  await expectFresh(to);
});

const PAIRS = `
class Pair(TypedDict):
    word: str
    first: str

@db.iterator
def pairs(text: str, least: int = 1) -> Iterator[Pair]:
    called("pairs", text)
    for word in text.split():
        yield {"word": word, "first": word[0]}

@db.udf`;

test.each(["cancelled", "failed"] as const)("a rebuild that is %s drops what it added to the rows", async (how) => {
  await open();
  const before = await answers();
  const text = `a${COUNT - 1} word`;
  const next = appWith({ least: 2, held: text, ...(how === "failed" ? { bad: text } : {}) })
    .replace("iterator=parts(Doc.low", "iterator=pairs(Doc.low")
    .replace("@db.udf", PAIRS)
    .replace('big = word + "!"', 'big = word + "!"\n    small = word + "."\n    loud = shouted(Doc.body)');
  const ended = tested.finish(await tested.update(next)).then(
    () => undefined,
    (error: unknown) => error,
  );
  await untilSomeAreDone();
  if (how === "cancelled")
    await tested.sql.query({ text: "update appdb.jobs set is_cancelled = true where state = 'running'" });
  release();
  expect(await ended).toMatchObject({ code: how === "failed" ? "fill_failed" : "job_cancelled" });
  const { tables } = await tested.diff(appWith());
  expect(tables.flatMap(({ ops }) => ops.map(({ description }) => description))).toEqual([]);
  expect(await answers()).toBe(before);
  expect((await tested.post("/add", { n: 50, body: "one more" })).status).toBe(200);
  expect(await rows("select word, big from words where big = 'more!'")).toEqual([["more", "more!"]]);
  await tested.finish(await tested.update(next.replaceAll(`"${text}"`, '"-"')));
  expect(await rows("select first, small, loud from words where word = 'more'")).toEqual([["m", "more.", "ONE MORE!"]]);
});

test("rows that services of both versions write meanwhile have the right values of both", async () => {
  await open();
  const to = { stored: "Doc.n % 3 == 0", plain: "Doc.n >= 3", least: 3 };
  const jobs = await tested.update(appWith({ ...to, held: `a${COUNT - 1} word` }));
  const newer = await tested.serve(appWith(to));
  closing.push(newer);
  const ended = tested.finish(jobs);
  await untilSomeAreDone();
  const write = async (one: ServedRoutes, two: ServedRoutes) => {
    for (const [served, path, body] of [
      [one, "/add", { n: 12, body: "old row" }],
      [two, "/add", { n: 15, body: "new row" }],
      [one, "/change", { n: 0, body: "old change" }],
      [two, "/change", { n: 3, body: "new change" }],
      [one, "/change", { n: 4, body: "of old" }],
      [two, "/change", { n: 5, body: "of new" }],
      [one, "/drop", { n: 6 }],
    ] as const) {
      const { status, text } = await served.post(path, body);
      expect(status, text).toBe(200);
    }
  };
  await write(tested, newer);
  expect((await answers(["/even"])).includes("12 OLD ROW!")).toBe(true);
  release();
  await ended;
  const left = await rows("select id from appdb.jobs where state in ('queued', 'running')");
  await tested.finish(left.flatMap(([id]) => id ?? []));
  await expectFresh(to, (served) => write(served, served));
});

test("tables do not change while a job computes the rows of their views again", async () => {
  await open();
  const jobs = await tested.update(appWith({ least: 3 }));
  const more = appWith({ least: 3 }).replace('low = body + ""', 'low = body + ""\n    high = body + "!"');
  await expect(tested.update(more)).rejects.toMatchObject({
    code: "schema_unsupported",
    message: expect.stringContaining("'docs' cannot change while a job computes the rows of its views again"),
  });
  expect(await tested.update(appWith({ least: 3 }))).toEqual([]);
  await tested.finish(jobs);
  await tested.finish(await tested.update(more));
  expect(await rows("select high from docs where n = 1")).toEqual([["a1 word!"]]);
});

test.each(["failed", "cancelled"] as const)(
  "a recompute that is %s keeps the rows of an iterator view",
  async (how) => {
    await open();
    const before = await answers();
    const ids = await rows(
      "select _row, _base_row from words union all select _row, _base_row from letters order by 1",
    );
    const text = `a${COUNT - 1} word`;
    await tested.update(
      appWith({ held: text, ...(how === "failed" ? { bad: text } : {}) }).replace(
        'yield {"word": word}',
        'yield {"word": word + word}',
      ),
    );
    const request = { folder: "public", table: "words", columns: [], cascade: true, errors_only: false } as const;
    const { job = "" } = await tested.sql.transaction((sql) => startRecompute(sql, { ...request, on_error: "abort" }));
    const ended = tested.finish([job]).then(
      () => undefined,
      (error: unknown) => error,
    );
    await untilSomeAreDone();
    expect(await answers()).toBe(before);
    if (how === "cancelled")
      await tested.sql.query({ text: "update appdb.jobs set is_cancelled = true where state = 'running'" });
    release();
    expect(await ended).toMatchObject({ code: how === "failed" ? "recompute_failed" : "job_cancelled" });
    expect(await answers()).toBe(before);
    expect(
      await rows("select _row, _base_row from words union all select _row, _base_row from letters order by 1"),
    ).toEqual(ids);
  },
);
