// An embedding index over given vectors: its build and its queries, compared with pgvector alone with the same
// settings.
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type pg from "pg";
import type { Bench } from "./support/bench.ts";
import type { Measure } from "./support/report.ts";
import { cliCommand, command, type ServedProject, time } from "./support/served-project.ts";
import { spread } from "./support/statistics.ts";

const TARGET = "embeddings";
const DIMENSIONS = 384;
const ROWS = 100_000;
const QUICK_ROWS = 10_000;
/** A full-size build takes a minute or two. */
const MAX_RUNS = 2;
const CLUSTERS = 500;
const BATCH = 1_000;
const PROBES = 200;
const WARM = 50;
/** Candidate rows of a search, as in a session of the product. */
const IN_SIGHT = 100;
/** Number of those that are compared exactly. */
const CHECKED = 40;
const NEAREST = 10;
const KEPT = new Agent({ keepAlive: true });

/** Seconds of both builds, milliseconds of a query by each, and the recall of the nearest rows. */
export async function measureEmbeddings(bench: Bench): Promise<Measure[]> {
  const served = await bench.served();
  const rows = bench.runs === 1 ? QUICK_ROWS : ROWS;
  const folder = await mkdtemp(join(tmpdir(), "appdb-bench-"));
  const builds: Pair = { ours: [], limit: [] };
  const queries: Pair = { ours: [], limit: [] };
  const recalls: Pair = { ours: [], limit: [] };
  try {
    const project = join(folder, "project");
    await mkdir(project);
    await writeFile(join(project, "app.py"), app(""));
    await command(served.env, project, ["init"]);
    await command(served.env, project, ["schema", "update", "app.py", TARGET]);
    await using pool = served.openPool(TARGET, 1);
    const points = createPoints();
    bench.say(`${rows} rows are made`);
    await fill(pool, points, rows);
    for (let run = 1; run <= Math.min(bench.runs, MAX_RUNS); run += 1) {
      bench.say(`run ${run}, ${rows} rows`);
      builds.limit.push(await buildAlone(pool, rows));
      builds.ours.push(await build(served, project));
      await command(served.env, project, ["service", "update", "app.py", TARGET, "-f"]);
      const listed = JSON.parse(await command(served.env, project, ["service", "list", TARGET, "--json"]));
      const address = `${(listed.services[0] as { endpoint: string }).endpoint.replace(/\/$/, "")}/nearest`;
      const probes = Array.from({ length: PROBES }, () => points.next());
      await compare(pool, address, probes, queries);
      await addRecalls(pool, address, probes.slice(0, CHECKED), recalls);
      await writeFile(join(project, "app.py"), app(""));
      await command(served.env, project, ["schema", "update", "app.py", TARGET, "--allow-destructive", "-f"]);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const over = `over ${rows} x ${DIMENSIONS}`;
  return [
    { name: `embedding index ${over}: build`, unit: "s", digits: 1, ...builds, reach: { at_most: 1.2 } },
    {
      name: `embedding index ${over}: a route's query for ${NEAREST} rows, against the statement alone`,
      unit: "ms",
      digits: 2,
      ...queries,
      reach: { at_most: 1.3 },
    },
    { name: `embedding index ${over}: of the nearest rows found`, unit: "of 1", digits: 3, ...recalls },
  ];
}

interface Pair {
  readonly ours: number[];
  readonly limit: number[];
}

function app(index: string): string {
  return `import appdb as db
from appdb.serving import Router

Base = db.model_base()


class Points(Base, name="points"):
    n = db.Column(type=db.Int, primary_key=True)
    vector: db.Array[(${DIMENSIONS},), db.Float]
${
  index === ""
    ? ""
    : `    __indexes__ = [${index}]


def nearest(v: db.Array[(${DIMENSIONS},), db.Float]):
    return Points.order_by(Points.vector.similarity(vector=v), asc=False).limit(${NEAREST}).select(Points.n)


r = Router(name="points")
r.add_query_route(path="/nearest", query=db.query(nearest))
`
}`;
}

/** Deterministic integer vectors in clusters, like embeddings. */
function createPoints(): { next(): number[] } {
  let state = 7;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 8) % below;
  };
  const centres = Array.from({ length: CLUSTERS }, () => Array.from({ length: DIMENSIONS }, () => random(101) - 50));
  return { next: () => (centres[random(CLUSTERS)] ?? []).map((number) => number + random(61) - 30) };
}

/** The same vectors in our table and in a plain pgvector table. */
async function fill(pool: pg.Pool, points: { next(): number[] }, rows: number): Promise<void> {
  for (let at = 0; at < rows; at += BATCH) {
    const texts = Array.from({ length: Math.min(BATCH, rows - at) }, () => `{${points.next().join(",")}}`);
    await pool.query({
      name: "fill",
      text: `insert into public.points (_row, n, vector)
        select uuidv7(), $2::bigint + at, v::float4[] from unnest($1::text[]) with ordinality as given(v, at)`,
      values: [texts, at],
    });
  }
  await pool.query("create schema alone");
  await pool.query(
    `create table alone.points as select n, vector::appdb.halfvec(${DIMENSIONS}) as v from public.points`,
  );
  await pool.query("vacuum analyze public.points");
  await pool.query("vacuum analyze alone.points");
  await pool.query("checkpoint");
}

/** With the same memory as the product uses, because a graph that does not fit would measure something else. */
async function buildAlone(pool: pg.Pool, rows: number): Promise<number> {
  await pool.query("drop index if exists alone.points_v");
  await pool.query(
    `set maintenance_work_mem = '${Math.max(64, Math.ceil((rows * (DIMENSIONS * 4 + 600)) / 2 ** 20))}MB'`,
  );
  const began = performance.now();
  await pool.query(
    "create index points_v on alone.points using hnsw (v appdb.halfvec_cosine_ops) with (m = 16, ef_construction = 64)",
  );
  return (performance.now() - began) / 1000;
}

/** Seconds of the whole command. */
async function build(served: ServedProject, project: string): Promise<number> {
  await writeFile(join(project, "app.py"), app("db.EmbeddingIndex(vector)"));
  const { program, args } = cliCommand(["schema", "update", "app.py", TARGET]);
  return time(program, args, { cwd: project, env: served.env }) / 1000;
}

/** Milliseconds of queries on one connection each, alternating between both. */
async function compare(pool: pg.Pool, address: string, probes: readonly number[][], pair: Pair): Promise<void> {
  await pool.query(`set hnsw.ef_search = ${IN_SIGHT}`);
  const [ours, limit]: [number[], number[]] = [[], []];
  for (const probe of [...probes.slice(0, WARM), ...probes]) {
    const began = performance.now();
    await ask(address, probe);
    const between = performance.now();
    await askAlone(pool, probe);
    ours.push(between - began);
    limit.push(performance.now() - between);
  }
  pair.ours.push(spread(ours.slice(WARM)).median);
  pair.limit.push(spread(limit.slice(WARM)).median);
}

async function addRecalls(pool: pg.Pool, address: string, probes: readonly number[][], pair: Pair): Promise<void> {
  const found = { ours: 0, limit: 0 };
  for (const probe of probes) {
    const { rows } = await pool.query<{ n: string }>(
      `select n from alone.points order by (v operator(appdb.<=>) $1) + 0 limit ${NEAREST}`,
      [`[${probe}]`],
    );
    const exact = new Set(rows.map(({ n }) => Number(n)));
    const isNear = (n: number): boolean => exact.has(n);
    found.ours += (await ask(address, probe)).filter(isNear).length;
    found.limit += (await askAlone(pool, probe)).filter(isNear).length;
  }
  pair.ours.push(found.ours / (probes.length * NEAREST));
  pair.limit.push(found.limit / (probes.length * NEAREST));
}

async function ask(address: string, probe: readonly number[]): Promise<number[]> {
  // The client's own time counts as ours: fetch would take as long as the service.
  const call = request(address, { method: "POST", agent: KEPT, headers: { "content-type": "application/json" } });
  call.end(JSON.stringify({ v: probe }));
  const [response] = (await once(call, "response")) as [IncomingMessage];
  const body = await text(response);
  if (response.statusCode !== 200) throw new Error(body);
  return (JSON.parse(body) as { rows: { n: number }[] }).rows.map(({ n }) => n);
}

async function askAlone(pool: pg.Pool, probe: readonly number[]): Promise<number[]> {
  const { rows } = await pool.query<{ n: string }>({
    name: "nearest",
    text: `select n from alone.points order by v operator(appdb.<=>) $1 limit ${NEAREST}`,
    values: [`[${probe}]`],
  });
  return rows.map(({ n }) => Number(n));
}
