// A hosted database's pod started by its driver: new, from sleep, and its use while idle.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openTestPods, type StartedPod, type TestPods } from "@appdb/runtime/testing/test-pods";
import type { Bench } from "./support/bench.ts";
import type { Measure } from "./support/report.ts";

const POLL_MS = 2;
/** After this time without requests a database is certainly idle and has released its resources. */
const IDLE_MS = 120_000;
const QUICK_IDLE_MS = 5_000;

const APP = `
import appdb as db

Base = db.model_base()


class Docs(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
`;

export async function measureWake(bench: Bench): Promise<Measure[]> {
  await using pods = openTestPods();
  const runs = bench.runs * 3;
  const made: number[] = [];
  const answered: number[] = [];
  const ready: number[] = [];
  const stopped: number[] = [];
  const idle: number[] = [];
  // the first database of a server creates the template
  await stop(await begin(pods, "first"));
  for (let run = 0; run < bench.runs; run += 1) {
    const began = performance.now();
    const pod = await begin(pods, `new-${run}`);
    made.push(seconds(began));
    await stop(pod);
  }
  await stop(await fill(pods));
  for (let run = 0; run < runs; run += 1) {
    const began = performance.now();
    const pod = pods.start(await specOf(pods, "used"));
    await until(async () => (await pod.ask("GET", "/v1/tables/docs/rows")).status === 200);
    answered.push(seconds(began));
    await until(async () => (await pod.ask("GET", "/v1/health")).status === 200);
    ready.push(seconds(began));
    if (run === runs - 1) {
      await sleep(bench.runs === 1 ? QUICK_IDLE_MS : IDLE_MS);
      idle.push(await memoryOf(pod));
    }
    const ending = performance.now();
    await stop(pod);
    stopped.push(seconds(ending));
  }
  const plain = { unit: "s", limit: undefined, digits: 2 };
  return [
    { name: "a new database, from its pod's start to ready", ours: made, ...plain },
    {
      name: "a sleeping database, from its pod's start to its first rows",
      ours: answered,
      ...plain,
      reach: { at_most: 0.45 },
    },
    { name: "the same to ready", ours: ready, ...plain },
    { name: "a database is put to sleep", ours: stopped, ...plain },
    {
      name: "idle database, PSS of all its processes",
      unit: "MB",
      ours: idle,
      limit: undefined,
      reach: { at_most: 130 },
    },
  ];
}

/** Databases in one pods, one after another, each with its own folder. */
async function specOf(pods: TestPods, name: string) {
  return await pods.spec({ data_folder: join(pods.folder, name) });
}

async function begin(pods: TestPods, name: string): Promise<StartedPod> {
  const pod = pods.start(await specOf(pods, name));
  await until(async () => (await pod.ask("GET", "/v1/health")).status === 200);
  return pod;
}

async function fill(pods: TestPods): Promise<StartedPod> {
  const pod = await begin(pods, "used");
  const app = { app_file: "app.py", files: pods.putTree({ "app.py": APP }), folders: [] };
  const { plan } = (await pod.ask("POST", "/v1/schema/plan", app)).json<{ plan: { catalog_version: number } }>();
  const { catalog_version: catalogVersion } = plan;
  await pod.ask("POST", "/v1/schema/apply", { ...app, catalog_version: catalogVersion, allow_destructive: false });
  const rows = Array.from({ length: 1_000 }, (_none, id) => ({ id, title: `Title ${id}` }));
  const inserted = await pod.ask("POST", "/v1/tables/docs/rows", rows);
  if (inserted.status !== 200) throw new Error(`the rows were not stored: ${inserted.text}`);
  return pod;
}

async function stop(pod: StartedPod): Promise<void> {
  pod.child.kill("SIGTERM");
  if ((await pod.ended()) !== 0) throw new Error(`a pod ended badly: ${pod.said()}`);
}

/** The socket does not exist at first. */
async function until(check: () => Promise<boolean>): Promise<void> {
  while (!(await check().catch(() => false))) await sleep(POLL_MS);
}

async function memoryOf(pod: StartedPod): Promise<number> {
  const sizes = await Promise.all(
    pod.processes().map(async ({ pid }) => {
      const text = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
      return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1]) / 1000;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

function seconds(since: number): number {
  return (performance.now() - since) / 1000;
}
