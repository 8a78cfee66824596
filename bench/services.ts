// A hosted service through the complete product: calls with a key through the gateway, compared with direct calls of
// its pod.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { seconds } from "./hosted-databases.ts";
import type { Bench } from "./support/bench.ts";
import { BODY, type HostedService, SLOW_BODY, setService } from "./support/hosted-service.ts";
import { type LoadResult, loadWithProcess } from "./support/load.ts";
import { type OpenResult, startOpenLoop } from "./support/open-loop.ts";
import type { Measure } from "./support/report.ts";

const CONNECTIONS = 64;
const MANY_CONNECTIONS = 2_000;
const OPEN_PER_SECOND = 5_000;
/** Share of the machine's maximum. Closer to it, queues grow at any number of connections. */
const SHARE = 0.7;
/** Load during updates: 200 requests per second in total. */
const KEPT = { per_second: 120, connections: 20 };
const NEW = { per_second: 70, connections: 0 };
const SLOW = { per_second: 10, connections: 30 };
const UPDATES = 10;
/** After this time without requests a service is certainly idle. */
const IDLE_MS = 120_000;
const QUICK_IDLE_MS = 5_000;
const START = fileURLToPath(new URL("../scripts/start.mjs", import.meta.url));

/** Measures one service; its memory first, while it is young. */
export async function measureServices(bench: Bench): Promise<Measure[]> {
  await using hosted = await setService();
  return [
    ...(await measureIdle(bench, hosted)),
    ...(await measureCalls(bench, hosted)),
    ...(await measureConnections(bench, hosted)),
    ...(await measureUpdates(bench, hosted)),
    ...(await measureStart(bench)),
  ];
}

async function measureIdle(bench: Bench, hosted: HostedService): Promise<Measure[]> {
  await hosted.insert();
  await sleep(bench.runs === 1 ? QUICK_IDLE_MS : IDLE_MS);
  const idle = await hosted.memory();
  const asleep: number[] = [];
  const waking: number[] = [];
  for (let run = 0; run < bench.runs * 3; run += 1) {
    bench.say(`a sleeping database is called for the ${run + 1}. time`);
    await hosted.putToSleep();
    asleep.push(await hosted.memory());
    const began = performance.now();
    await hosted.insert();
    waking.push(seconds(began));
  }
  const plain = { unit: "MB", limit: undefined };
  return [
    {
      name: "idle database with one service, PSS of all their processes",
      ...plain,
      ours: [idle],
      reach: { at_most: 230 },
    },
    { name: "the same asleep", ...plain, ours: asleep, reach: { at_most: 0 } },
    {
      name: "a request wakes a sleeping database, to its answer",
      unit: "s",
      digits: 2,
      ours: waking,
      limit: undefined,
      reach: { at_most: 0.6 },
    },
  ];
}

async function measureCalls(bench: Bench, hosted: HostedService): Promise<Measure[]> {
  const calls = {
    gateway: { url: hosted.url },
    direct: { url: "http://localhost/docs", socket: await hosted.findSocket() },
  };
  const drive = (call: { url: string; socket?: string }, connections: number) =>
    loadWithProcess({ ...call, body: BODY, headers: hosted.headers, connections, seconds: bench.seconds });
  const found = { gateway: [] as LoadResult[], direct: [] as LoadResult[], one: [] as LoadResult[] };
  const added: number[] = [];
  // the first requests of a process are not representative
  for (const call of [calls.direct, calls.gateway]) await drive(call, CONNECTIONS);
  for (let run = 1; run <= bench.runs; run += 1) {
    bench.say(`run ${run} of ${bench.runs}, ${CONNECTIONS} connections and 1`);
    found.direct.push(requireValid(await drive(calls.direct, CONNECTIONS)));
    found.gateway.push(requireValid(await drive(calls.gateway, CONNECTIONS)));
    const direct = requireValid(await drive(calls.direct, 1));
    const one = requireValid(await drive(calls.gateway, 1));
    found.one.push(one);
    added.push(one.p50_ms - direct.p50_ms);
  }
  const rates = (of: readonly LoadResult[]) => of.map(({ per_second: perSecond }) => perSecond);
  return [
    {
      name: `insert through gateway with key, ${CONNECTIONS} conn., against the service pod called directly`,
      unit: "/s",
      ours: rates(found.gateway),
      limit: rates(found.direct),
      reach: { at_least: 0.75 },
    },
    {
      name: "what the gateway adds to an insert with key, 1 conn., p50",
      unit: "ms",
      digits: 3,
      ours: added,
      limit: undefined,
      reach: { at_most: 0.1 },
    },
    {
      name: "insert through gateway with key, 1 conn., p50",
      unit: "ms",
      digits: 3,
      ours: found.one.map(({ p50_ms: p50Ms }) => p50Ms),
      limit: undefined,
    },
  ];
}

async function measureConnections(bench: Bench, hosted: HostedService): Promise<Measure[]> {
  const { url, headers } = hosted;
  const max = await loadWithProcess({ url, body: BODY, headers, connections: CONNECTIONS, seconds: bench.seconds });
  const rate = Math.min(OPEN_PER_SECOND, Math.round((max.per_second * SHARE) / 100) * 100);
  const drive = async (connections: number) => {
    const loop = await startOpenLoop({ url, body: BODY, headers, per_second: rate, connections });
    await sleep(bench.seconds * 2_000);
    return requireValid(await loop.stop()).p99_ms;
  };
  const [few, many]: [number[], number[]] = [[], []];
  for (let run = 1; run <= bench.runs; run += 1) {
    bench.say(`run ${run} of ${bench.runs}, ${rate} inserts a second over ${CONNECTIONS} and ${MANY_CONNECTIONS}`);
    few.push(await drive(CONNECTIONS));
    many.push(await drive(MANY_CONNECTIONS));
  }
  return [
    {
      name: `open loop of ${rate} inserts a second over ${MANY_CONNECTIONS} conn., p99, against ${CONNECTIONS} conn.`,
      unit: "ms",
      digits: 1,
      ours: many,
      limit: few,
      reach: { at_most: 3 },
    },
  ];
}

/** Half of the updates with one worker, half with two; the last one adds a computed column. */
async function measureUpdates(bench: Bench, hosted: HostedService): Promise<Measure[]> {
  const { url, slow_url: slowUrl, headers } = hosted;
  const results: OpenResult[] = [];
  const took: number[] = [];
  for (const workers of [1, 2]) {
    await hosted.setWorkers(workers);
    const common = { url, body: BODY, headers };
    const loops = await Promise.all([
      startOpenLoop({ ...common, ...KEPT }),
      startOpenLoop({ ...common, ...NEW }),
      startOpenLoop({ ...common, ...SLOW, url: slowUrl, body: SLOW_BODY }),
    ]);
    for (let update = 1; update <= UPDATES / 2; update += 1) {
      bench.say(`update ${update} of ${UPDATES / 2} with ${workers} workers`);
      took.push(await hosted.update({ adds_column: workers === 2 && update === UPDATES / 2 }));
    }
    results.push(...(await Promise.all(loops.map((loop) => loop.stop()))));
  }
  for (const { first_failure: firstFailure } of results)
    if (firstFailure !== null) bench.say(`failed: ${firstFailure}`);
  const answered = results.reduce((sum, one) => sum + one.answered, 0);
  const rate = KEPT.per_second + NEW.per_second + SLOW.per_second;
  return [
    {
      name: `of ${answered} requests, ${rate} a second, failed while the service was updated ${UPDATES} times`,
      unit: "",
      ours: [results.reduce((sum, one) => sum + one.failed, 0)],
      limit: undefined,
      reach: { at_most: 0 },
    },
    { name: "service update meanwhile", unit: "s", digits: 2, ours: took, limit: undefined },
  ];
}

/** On a separate home, with packages that other starts left in the machine's caches. */
async function measureStart(bench: Bench): Promise<Measure[]> {
  const folder = await mkdtemp(join(tmpdir(), "appdb-bench-"));
  try {
    const env = { ...process.env, SERVICE_HOME: join(folder, "home") };
    bench.say("npm start");
    const first = await timeStart(env);
    const again: number[] = [];
    for (let run = 0; run < bench.runs; run += 1) again.push(await timeStart(env));
    const plain = { unit: "s", digits: 1, limit: undefined };
    return [
      { name: "npm start on a new home, to its first row", ...plain, ours: [first] },
      { name: "npm start a second time, to its first row", ...plain, ours: again, reach: { at_most: 6 } },
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function timeStart(env: NodeJS.ProcessEnv): Promise<number> {
  const began = performance.now();
  const child = spawn(process.execPath, [START], { env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "exit");
  let [said, took] = ["", Number.NaN];
  const hear = (data: Buffer) => {
    said += data;
    if (!Number.isNaN(took) || !said.includes("A row was inserted")) return;
    took = seconds(began);
    child.kill("SIGINT");
  };
  child.stdout.on("data", hear);
  child.stderr.on("data", hear);
  await ended;
  if (Number.isNaN(took)) throw new Error(`npm start inserted no row:\n${said}`);
  return took;
}

function requireValid<Result extends { readonly failed: number }>(result: Result): Result {
  if (result.failed > 0) throw new Error(`${result.failed} requests failed: ${JSON.stringify(result)}`);
  return result;
}
