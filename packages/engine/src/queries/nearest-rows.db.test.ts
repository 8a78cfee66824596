import { DEFAULT_LIMITS } from "@appdb/contract/service-spec";
import { openTestApplication, type TestApplication } from "@appdb/testkit/test-application";
import type { ServedRoutes } from "@appdb/testkit/test-catalog";
import { afterAll, beforeAll, expect, test } from "vitest";
import { explainQuery } from "../endpoints/explain-query.ts";

const DIMENSIONS = 32;
const ROWS = 6_000;

/** Points in clusters, like embeddings of texts. The index is created after the rows. */
function app(indexes: string): string {
  return `
import appdb as db
from appdb.functions import count
from appdb.serving import Router

Base = db.model_base()


class Points(Base, name="points"):
    n = db.Column(type=db.Int, primary_key=True)
    part: db.Int
    vector: db.Array[(${DIMENSIONS},), db.Float]
    __indexes__ = [db.EmbeddingIndex(vector)${indexes}]


Vector = db.Array[(${DIMENSIONS},), db.Float]
r = Router(name="points")


def nearest(v: Vector, k: int = 10): return Points.order_by(Points.vector.similarity(vector=v), asc=False).limit(k).select(Points.n)
r.add_query_route(path="/nearest", query=db.query(nearest))
def of_part(v: Vector, least: int, k: int = 10):
    return Points.where(Points.part >= least).order_by(Points.vector.similarity(vector=v), asc=False).limit(k).select(Points.n, Points.part)
r.add_query_route(path="/of_part", query=db.query(of_part))
def next_page(v: Vector, skipped: int): return Points.order_by(Points.vector.similarity(vector=v), asc=False).limit(10, skipped).select(Points.n)
r.add_query_route(path="/next_page", query=db.query(next_page))
def counted(v: Vector): return Points.where(Points.part < 10).order_by(Points.vector.similarity(vector=v), asc=False).limit(3).select(Points.n, place=count(order_by=-Points.vector.similarity(vector=v)))
r.add_query_route(path="/counted", query=db.query(counted))
`;
}

const BARE = `
import appdb as db
Base = db.model_base()


class Points(Base, name="points"):
    n = db.Column(type=db.Int, primary_key=True)
    part: db.Int
    vector: db.Array[(${DIMENSIONS},), db.Float]
`;

let tested: TestApplication;
let served: ServedRoutes;
const random = createRandom(42);
const points = makePoints();

beforeAll(async () => {
  tested = await openTestApplication(BARE);
  await tested.sql.query({
    text: `insert into points (_row, n, part, vector)
      select uuidv7(), at, at % 1000, v::float4[] from unnest($1::text[]) with ordinality as given(v, at)`,
    values: [points.map((point) => `{${point.join(",")}}`)],
  });
  await tested.finish(await tested.update(app("")));
  served = await tested.serve(app(""));
});

afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  await tested?.[Symbol.asyncDispose]();
});

test("the graph alone finds at least 95 of 100 of the ten nearest rows", async () => {
  let found = 0;
  const asked = Array.from({ length: 40 }, (_none, at) => points[at * 149] ?? []);
  tested.statements();
  for (const v of asked) {
    const { json } = await served.post("/nearest", { v });
    const exact = new Set(nearestExactly(v, 10));
    found += json.rows.filter(({ n }: { n: number }) => exact.has(n)).length;
  }
  expect(found / (asked.length * 10)).toBeGreaterThanOrEqual(0.95);
  const asking = tested.statements().filter(({ text }) => text.includes("<=>"));
  expect(asking).toHaveLength(asked.length);
  const [first] = asking;
  const { rows } = await tested.sql.query({ text: `explain ${first?.text}`, values: first?.values ?? [] });
  const plan = rows.flat().join("\n");
  expect(plan).toContain('Index Scan using "points(vector).fp16.cosine" on points');
  expect(plan).not.toContain("Seq Scan on points");
});

test("the explained plan shows the graph", async () => {
  const params = { v: JSON.stringify(points[0]), k: "10" };
  const input = {
    manifest: served.manifest,
    target: "main",
    query: "nearest",
    params,
    analyze: false,
    limits: DEFAULT_LIMITS,
  };
  expect((await explainQuery(tested.sql, input)).plan.join("\n")).toContain("points(vector).fp16.cosine");
});

test("a filter still gets the requested number of rows", async () => {
  tested.statements();
  for (const [min, count] of [
    [500, 10],
    [990, 10],
    [999, 6],
  ] as const) {
    const { json } = await served.post("/of_part", { v: points[77], least: min });
    expect(json.rows).toHaveLength(count);
    expect(json.rows.every(({ part }: { part: number }) => part >= min)).toBe(true);
    const exact = nearestExactly(points[77] ?? [], 10, (n) => n % 1000 >= min);
    if (count === 6) expect(json.rows.map(({ n }: { n: number }) => n).sort()).toEqual([...exact].sort());
  }
  const settings = tested.statements().filter(({ name }) => name === "appdb.search_nearest");
  expect(settings[0]?.values).toEqual(["100", "strict_order"]);
});

test("a window counts rows by their similarity", async () => {
  const { status, json } = await served.post("/counted", { v: points[5] });
  expect({ status, rows: json.rows }).toMatchObject({
    status: 200,
    rows: [{ n: 6, place: 1 }, { place: 2 }, { place: 3 }],
  });
});

test("finds more rows than a graph's search list, and pages continue correctly", async () => {
  tested.statements();
  const { json } = await served.post("/nearest", { v: points[5], k: 400 });
  expect(json.rows).toHaveLength(400);
  const exact = new Set(nearestExactly(points[5] ?? [], 400));
  expect(json.rows.filter(({ n }: { n: number }) => exact.has(n)).length).toBeGreaterThanOrEqual(380);
  const settings = tested.statements().find(({ name }) => name === "appdb.search_nearest");
  expect(settings?.values).toEqual(["400", "off"]);
  const first = json.rows.slice(0, 20).map(({ n }: { n: number }) => n);
  const pages: number[] = [];
  for (const skipped of [0, 10]) {
    const page = await served.post("/next_page", { v: points[5], skipped });
    pages.push(...page.json.rows.map(({ n }: { n: number }) => n));
  }
  expect(pages.filter((n) => first.includes(n)).length).toBeGreaterThanOrEqual(18);
  expect(tested.statements().filter(({ text }) => text.includes("+ 0::float8"))).toEqual([]);
});

function nearestExactly(v: readonly number[], k: number, has: (n: number) => boolean = () => true): number[] {
  return points
    .map((point, at) => ({ n: at + 1, likeness: cosine(point, v) }))
    .filter(({ n }) => has(n))
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, k)
    .map(({ n }) => n);
}

function cosine(a: readonly number[], b: readonly number[]): number {
  let [dot, aa, bb] = [0, 0, 0];
  for (let at = 0; at < a.length; at++) {
    const [x, y] = [a[at] ?? 0, b[at] ?? 0];
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  return dot / Math.sqrt(aa * bb);
}

function makePoints(): number[][] {
  const centres = Array.from({ length: 60 }, () => Array.from({ length: DIMENSIONS }, () => random() - 0.5));
  return Array.from({ length: ROWS }, (_none, at) =>
    (centres[at % centres.length] ?? []).map((number) => Number((number + (random() - 0.5) * 0.6).toFixed(4))),
  );
}

/** A deterministic random number generator (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
