import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import type { ServedRoutes } from "@appdb/testkit/test-catalog";
import { afterEach, expect, test } from "vitest";
import { Random } from "../expressions/testing/random.ts";

const LONG = process.env.APPDB_FAULTS === "long";

interface Version {
  /** The conditions of the filtered views. SQL tests the first in each query; the others are stored. */
  readonly below: number;
  readonly share: number;
  readonly even: boolean;
  /** The length of the pieces of a text. */
  readonly size: number;
  readonly from: number;
  readonly sign: string;
}

/** A table with a view of each kind, and views over these. */
const appWith = ({ below, share, even, size, from, sign }: Version) => `
from typing import Iterator, TypedDict

import appdb as db
from appdb.functions import upper
from appdb.serving import Router

Base = db.model_base()

class Piece(TypedDict):
    piece: str

@db.iterator
def pieces(text: str, size: int) -> Iterator[Piece]:
    for at in range(0, len(text), size):
        yield {"piece": text[at:at + size]}

@db.udf
def is_right(n: int, even: bool) -> bool:
    return (n % 2 == 0) == even

class T(Base, name="t"):
    id = db.Column(type=db.Int, primary_key=True)
    n: db.Int
    f: db.Float
    s: db.String

class Below(Base, name="below", base=T.where(T.n < ${below})):
    loud = upper(T.s) + "${sign}"

class Share(Base, name="share", base=T.where(T.f * 1.0 < ${share})):
    loud = upper(T.s) + "${sign}"

class Right(Base, name="right", base=T.where(is_right(T.n, even=${even ? "True" : "False"}))):
    more = T.n + 1

class Over(Base, name="over", base=Right.where(Right.more > 3)):
    tens = Right.more * 10

class P(Base, name="pieces", base=T, iterator=pieces(T.s, size=${size})):
    shown = upper(piece)

class Late(Base, name="late", base=P.where(P.pos >= ${from})):
    twice = P.piece + P.shown

class OfShare(Base, name="of_share", base=Share, iterator=pieces(Share.loud, size=${size})):
    low = piece + "${sign}"

@db.query
def below():
    return Below.order_by(Below.id).select(Below.id, Below.loud)

@db.query
def share():
    return Share.order_by(Share.id).select(Share.id, Share.loud)

@db.query
def right():
    return Right.order_by(Right.id).select(Right.id, Right.more)

@db.query
def over():
    return Over.order_by(Over.id).select(Over.id, Over.tens)

@db.query
def pieces_of():
    return P.order_by(P.id, P.pos).select(P.id, P.pos, P.shown)

@db.query
def late():
    return Late.order_by(Late.id, Late.pos).select(Late.id, Late.pos, Late.twice)

@db.query
def of_share():
    return OfShare.order_by(OfShare.id, OfShare.pos).select(OfShare.id, OfShare.pos, OfShare.low)

api = Router(name="api")
api.add_insert_route(T, path="/add")
api.add_update_route(T, path="/change")
api.add_delete_route(T, path="/drop")
for each in (below, share, right, over, pieces_of, late, of_share):
    api.add_query_route(path=f"/{each.__name__}", query=each, method="get")
`;

interface Row {
  readonly n: number;
  readonly f: number;
  readonly s: string;
}

/** The rows of all views, computed from nothing. */
function expected(rows: ReadonlyMap<number, Row>, version: Version): Readonly<Record<string, readonly string[]>> {
  const all = [...rows].sort(([a], [b]) => a - b).map(([id, row]) => ({ id, ...row }));
  const cut = (text: string) =>
    Array.from({ length: Math.ceil(text.length / version.size) }, (_none, at) =>
      text.slice(at * version.size, (at + 1) * version.size),
    );
  const loud = ({ s }: Row) => s.toUpperCase() + version.sign;
  const share = all.filter(({ f }) => f < version.share);
  const right = all.filter(({ n }) => (n % 2 === 0) === version.even);
  const made = all.flatMap(({ id, s }) => cut(s).map((piece, pos) => ({ id, pos, piece })));
  return {
    below: all.filter(({ n }) => n < version.below).map((row) => `${row.id} ${loud(row)}`),
    share: share.map((row) => `${row.id} ${loud(row)}`),
    right: right.map(({ id, n }) => `${id} ${n + 1}`),
    over: right.filter(({ n }) => n + 1 > 3).map(({ id, n }) => `${id} ${(n + 1) * 10}`),
    pieces_of: made.map(({ id, pos, piece }) => `${id} ${pos} ${piece.toUpperCase()}`),
    late: made
      .filter(({ pos }) => pos >= version.from)
      .map(({ id, pos, piece }) => `${id} ${pos} ${piece}${piece.toUpperCase()}`),
    of_share: share.flatMap((row) => cut(loud(row)).map((piece, pos) => `${row.id} ${pos} ${piece}${version.sign}`)),
  };
}

let tested: TestApplication;
const closing: AsyncDisposable[] = [];

afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one[Symbol.asyncDispose]();
  await tested?.[Symbol.asyncDispose]();
});

const FIRST: Version = { below: 5, share: 5, even: true, size: 3, from: 1, sign: "!" };

const rows = async (text: string) => (await tested.sql.query({ text })).rows;

async function write(served: ServedRoutes, path: string, body: unknown): Promise<void> {
  const { status, text } = await served.post(path, body);
  expect(status, text).toBe(200);
}

async function finishAll(): Promise<void> {
  for (;;) {
    const open = await rows("select id from appdb.jobs where state in ('queued', 'running') order by seq");
    if (open.length === 0) return;
    await tested.finish(open.flatMap(([id]) => id ?? []));
  }
}

/** Every view equals a fresh one, and nothing of the jobs is left. */
async function expectRight(model: ReadonlyMap<number, Row>, version: Version): Promise<void> {
  const newer = await tested.serve(appWith(version));
  closing.push(newer);
  const found: Record<string, string[]> = {};
  for (const view of Object.keys(expected(model, version))) {
    const { status, json, text } = await newer.get(`/${view}`);
    expect(status, text).toBe(200);
    found[view] = json.rows.map((row: object) => Object.values(row).join(" "));
  }
  expect(found).toEqual(expected(model, version));
  expect(await rows("select count(*) from t where _errors is not null")).toEqual([["0"]]);
  expect(await rows("select count(*) from pieces where _errors is not null")).toEqual([["0"]]);
  expect(await rows("select name from appdb.columns where name like '#shadow%'")).toEqual([]);
  expect((await tested.diff(appWith(version))).in_agreement).toBe(true);
}

test("a second update fills the rows after the pending cells that an older service has left", async () => {
  tested = await openTestApplication(appWith(FIRST));
  const model = new Map<number, Row>();
  const add = async (id: number) => {
    const row = { n: id % 7, f: id % 10, s: `text number ${id}` };
    model.set(id, row);
    await write(tested, "/add", { id, ...row });
  };
  for (let id = 0; id < 20; id++) await add(id);
  const second = { ...FIRST, below: 2, share: 2, even: false, size: 2, from: 2 };
  const third = { ...FIRST, below: 6, share: 7, even: true, size: 5, from: 0 };
  await tested.finish(await tested.update(appWith(second)));
  await add(20);
  const jobs = await tested.update(appWith(third));
  await add(21);
  await tested.finish(jobs);
  await finishAll();
  await expectRight(model, third);
});

test("rows that an update makes again have the values of the columns that it also changes", async () => {
  tested = await openTestApplication(appWith(FIRST));
  const row = { n: 1, f: 1, s: "some text" };
  await write(tested, "/add", { id: 1, ...row });
  const next = { ...FIRST, size: 4, sign: "?" };
  const jobs = await tested.update(appWith(next));
  const [view] = (await tested.diff(appWith({ ...next, sign: "#" }))).tables.filter(
    ({ path }) => path === "main/of_share",
  );
  expect(view?.ops.map(({ description }) => description)).toEqual([
    expect.stringMatching(/^'of_share' cannot change while a job computes the rows of its views again/),
  ]);
  await tested.finish(jobs);
  await expectRight(new Map([[1, row]]), next);
});

test.each(LONG ? [1, 4, 5] : [4])(
  "after updates in a row while older services write, views equal fresh ones (seed %i)",
  async (seed) => {
    const random = new Random(seed);
    const next = (): Version => ({
      below: random.int(1, 6),
      share: random.int(1, 9),
      even: random.pick([true, false]),
      size: random.int(2, 6),
      from: random.int(0, 2),
      sign: random.pick(["!", "?"]),
    });
    let version = next();
    tested = await openTestApplication(appWith(version));
    const services: ServedRoutes[] = [tested];
    const model = new Map<number, Row>();
    const writeOne = async (): Promise<void> => {
      const id = random.int(1, 40);
      const row = { n: random.int(0, 6), f: random.int(0, 19) / 2, s: random.pick(["", "ab", "abcdefg", "some text"]) };
      const served = random.pick(services);
      if (!model.has(id)) {
        model.set(id, row);
        await write(served, "/add", { id, ...row });
      } else if (random.int(1, 4) === 1) {
        model.delete(id);
        await write(served, "/drop", { id });
      } else {
        const part = random.pick([row, { n: row.n }, { f: row.f }, { s: row.s }]);
        model.set(id, { ...(model.get(id) ?? row), ...part });
        await write(served, "/change", { id, ...part });
      }
    };
    for (let count = 0; count < 30; count++) await writeOne();
    for (let update = 0; update < 4; update++) {
      version = next();
      const jobs = await tested.update(appWith(version));
      for (let count = random.int(0, 2); count > 0; count--) await writeOne();
      let isRunning = true;
      const ended = tested.finish(jobs).finally(() => {
        isRunning = false;
      });
      const writing = (async () => {
        while (isRunning) await writeOne();
      })();
      await Promise.all([ended, writing]);
      for (let count = random.int(0, 2); count > 0; count--) await writeOne();
      if (random.int(1, 3) === 1) {
        await finishAll();
        await expectRight(model, version);
        const newer = await tested.serve(appWith(version));
        closing.push(newer);
        services.push(newer);
      }
    }
    await finishAll();
    await expectRight(model, version);
  },
  120_000,
);

const withOwn = (sign: string) => `
from typing import Iterator, TypedDict

import appdb as db
from appdb.functions import upper
from appdb.serving import Router

Base = db.model_base()

class Piece(TypedDict):
    piece: str

@db.iterator
def pieces(text: str) -> Iterator[Piece]:
    for piece in text.split():
        yield {"piece": piece}

@db.udf
def signed(text: str, sign: str) -> str:
    return text + sign

class T(Base, name="t"):
    id = db.Column(type=db.Int, primary_key=True)
    s: db.String

class P(Base, name="pieces", base=T, iterator=pieces(T.s)):
    by_python = signed(piece, sign="${sign}")
    by_sql = upper(piece) + "${sign}"

api = Router(name="api")
api.add_insert_route(T, path="/add")
`;

test("rows that an older service makes have the new values of the view's own columns", async () => {
  tested = await openTestApplication(withOwn("!"));
  await write(tested, "/add", { id: 1, s: "one" });
  const jobs = await tested.update(withOwn("?"));
  await write(tested, "/add", { id: 2, s: "two" });
  await tested.finish(jobs);
  await write(tested, "/add", { id: 3, s: "three" });
  await finishAll();
  expect(await rows("select by_python, by_sql from pieces order by by_sql")).toEqual([
    ["one?", "ONE?"],
    ["three?", "THREE?"],
    ["two?", "TWO?"],
  ]);
});
