// Live queries: a thousand readers of different values, while a hundred commits per second each affect one of them.
import { type ClientRequest, get, type IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Bench } from "./support/bench.ts";
import type { Measure } from "./support/report.ts";
import type { ServedProject } from "./support/served-project.ts";

const TARGET = "bench";
const READERS = 1_000;
const COMMITS_PER_SECOND = 100;
/** Outside the range of other groups' inserts. */
const FIRST = 5_000_000;
/** PostgreSQL processes report their statistics after being idle this long. */
const STATISTICS_MS = 12_000;
const INSERT = JSON.stringify({ title: "Hello from the benchmark", body: "A short text of a few words" });

/**
 * Measures the time from a commit to its reader's event, the service's statements per commit, and the cost of inserts
 * into a watched table.
 */
export async function measureLive(bench: Bench): Promise<Measure[]> {
  const served = await bench.served();
  await using pool = served.openPool(TARGET, 4);
  await pool.query(
    `insert into listed (id, title, n, price, made_at)
      select uuidv7(), 'Title number ' || i, $1 + i, i, now() from generate_series(0, $2 - 1) i`,
    [FIRST, READERS],
  );
  await pool.query("vacuum analyze listed");
  const last: number[] = [];
  const middle: number[] = [];
  const statements: number[] = [];
  for (let run = 1; run <= bench.runs; run += 1) {
    bench.say(`run ${run} of ${bench.runs}, ${READERS} live queries`);
    const found = await watchCommits(served, pool, bench.seconds * 3);
    const sorted = found.times.toSorted((a, b) => a - b);
    last.push(sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN);
    middle.push(sorted[sorted.length >> 1] ?? Number.NaN);
    statements.push(found.statements_per_commit);
  }
  const { watched, alone } = await compareInserts(bench, served);
  const name = `${READERS} live queries, ${COMMITS_PER_SECOND} commits a second that touch one each`;
  return [
    {
      name: `${name}: commit to event, p99`,
      unit: "ms",
      ours: last,
      limit: undefined,
      reach: { at_most: 250 },
      digits: 1,
    },
    { name: `${name}: commit to event, median`, unit: "ms", ours: middle, limit: undefined, digits: 1 },
    {
      name: `${name}: statements a commit`,
      unit: "",
      ours: statements,
      limit: undefined,
      reach: { at_most: 2 },
      digits: 2,
    },
    {
      name: "inserts at 64 conn. into a table with a live query, against without",
      unit: "/s",
      ours: watched,
      limit: alone,
    },
  ];
}

async function watchCommits(served: ServedProject, pool: pg.Pool, seconds: number) {
  const times: number[] = [];
  const sent = new Map<number, number>();
  await using readers = await openReaders(served, (n) => {
    const at = sent.get(n);
    if (at !== undefined) times.push(performance.now() - at);
    sent.delete(n);
  });
  await sleep(STATISTICS_MS);
  const before = await scansOf(pool);
  const commits = COMMITS_PER_SECOND * seconds;
  const began = performance.now();
  const running: Promise<unknown>[] = [];
  for (let at = 0; at < commits; at += 1) {
    await sleep(Math.max(0, began + (at * 1000) / COMMITS_PER_SECOND - performance.now()));
    const n = FIRST + ((at * 7) % READERS);
    sent.set(n, performance.now());
    running.push(pool.query("update listed set price = price + 1 where n = $1", [n]));
  }
  await Promise.all(running);
  await sleep(1_000);
  if (times.length !== commits) throw new Error(`${commits} commits were told by ${times.length} events`);
  await sleep(STATISTICS_MS);
  // Each update also scans for its own row.
  const statementsPerCommit = ((await scansOf(pool)) - before - commits) / commits;
  readers.check();
  return { times, statements_per_commit: statementsPerCommit };
}

async function openReaders(served: ServedProject, onChange: (n: number) => void) {
  const requests: ClientRequest[] = [];
  let broken = 0;
  let isOver = false;
  await Promise.all(
    Array.from({ length: READERS }, async (_none, at) => {
      const [request, response] = await open(`${served.service}/made_of?n=${FIRST + at}`);
      requests.push(request);
      response.on("close", () => {
        if (!isOver) broken += 1;
      });
      let events = 0;
      await new Promise<void>((resolve) =>
        response.on("data", (text: string) => {
          events += text.split("\nevent: ").length - 1 + (text.startsWith("event: ") ? 1 : 0);
          if (events === 1) resolve();
          else if (text.includes("event: ")) onChange(FIRST + at);
        }),
      );
    }),
  );
  return {
    check: () => {
      if (broken > 0) throw new Error(`${broken} streams broke off`);
    },
    async [Symbol.asyncDispose]() {
      isOver = true;
      for (const request of requests) request.destroy();
      await sleep(500);
    },
  };
}

function open(url: string): Promise<[ClientRequest, IncomingMessage]> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false, headers: { accept: "text/event-stream" } }, (response) => {
      response.setEncoding("utf8");
      response.on("error", () => undefined);
      if (response.statusCode === 200) resolve([request, response]);
      else reject(new Error(`${url} answered ${response.statusCode}`));
    });
    request.on("error", reject);
  });
}

async function compareInserts(bench: Bench, served: ServedProject): Promise<{ watched: number[]; alone: number[] }> {
  const watched: number[] = [];
  const alone: number[] = [];
  const drive = async () => {
    const load = { url: `${served.service}/plain`, body: INSERT, connections: 64, seconds: bench.seconds };
    return (await bench.load(load)).per_second;
  };
  // Triggers remain for a while after the last reader left, so runs without readers come first.
  for (let run = 1; run <= bench.runs; run += 1) alone.push(await drive());
  const [request] = await open(`${served.service}/plain_of?title=nothing`);
  for (let run = 1; run <= bench.runs; run += 1) watched.push(await drive());
  request.destroy();
  return { watched, alone };
}

/** Number of scans of the table by any statement. */
async function scansOf(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query(
    "select (idx_scan + seq_scan)::int as scans from pg_stat_user_tables where relname = 'listed'",
  );
  return rows[0].scans;
}
