// Hosted databases through the whole of the product, as a person or a program has them: by the built command and by requests to the
// control plane, with pods as the machine's driver makes them.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Bench } from "./bench.ts";
import { type DatabaseStage, FILES, MAIN, ORGANIZATION, seconds, setDatabases } from "./database-stage.ts";
import type { Measure } from "./report.ts";
import { time } from "./stage.ts";
import { spread } from "./statistics.ts";

const UV = fileURLToPath(new URL("../.tools/bin/uv", import.meta.url));
/** Small ones without dependencies; the last is the new one. */
const PACKAGES = [
  "idna==3.10",
  "humanize==4.11.0",
  "iniconfig==2.0.0",
  "tabulate==0.9.0",
  "six==1.17.0",
  "toolz==1.0.0",
];
/** So long after its last request a database is idle for sure. */
const IDLE_MS = 120_000;
const QUICK_IDLE_MS = 5_000;

/** Makes, updates and wakes the databases of one organization. */
export async function measureDatabases(bench: Bench): Promise<Measure[]> {
  await using stage = await setDatabases();
  const plain = { unit: "s", limit: undefined, digits: 2 };
  const created = await stage.timeCreation();
  await stage.command("schema", "update", "app.py", MAIN);
  await stage.insert("main", 1);

  const changed: number[] = [];
  const waking: number[] = [];
  const asleep: number[] = [];
  for (let run = 0; run < bench.runs; run += 1) {
    await writeFile(join(stage.project, "lib", "file_7.py"), `VALUE = ${run}\n`);
    changed.push(stage.time("db", "update", MAIN, "-f"));
  }
  for (let run = 0; run < bench.runs * 3; run += 1) {
    const ended = performance.now();
    await stage.post("main/stop");
    await stage.until("main", "STOPPED");
    asleep.push(seconds(ended));
    waking.push(await stage.timeWake("main"));
  }
  const { alone, whole } = await timePackages(stage, bench.runs);
  await sleep(bench.runs === 1 ? QUICK_IDLE_MS : IDLE_MS);
  const idle = await stage.memory();
  return [
    { name: "an organization is created, to main AVAILABLE", ours: [created], ...plain, reach: { at_most: 2 } },
    {
      name: `db update with one changed file of ${FILES}, nothing to build`,
      ours: changed,
      ...plain,
      reach: { at_most: 2 },
    },
    {
      name: "db update with a new dependency, uv's cache warm",
      ours: whole,
      ...plain,
      reach: { at_most: 4 },
    },
    {
      name: "what is built of it, above uv doing the same alone",
      ours: whole.map((one, run) => one - spread(changed).median - (alone[run] ?? 0)),
      ...plain,
      reach: { at_most: 2 },
    },
    { name: "a sleeping database is started, to its first rows", ours: waking, ...plain, reach: { at_most: 0.45 } },
    { name: "a database is put to sleep", ours: asleep, ...plain },
    {
      name: "an idle database through the product, PSS of all its processes",
      unit: "MB",
      ours: [idle],
      limit: undefined,
      reach: { at_most: 130 },
    },
  ];
}

/** Many at once, awake and asleep, each with a cluster of its own and a row that only it has. */
export async function measureManyDatabases(bench: Bench): Promise<Measure[]> {
  const [awake, asleep, woken] = bench.runs === 1 ? [4, 12, 6] : [20, 500, 50];
  await using stage = await setDatabases();
  await stage.timeCreation();
  const names = Array.from({ length: awake + asleep }, (_none, at) => `d${at}`);
  for (const [at, name] of names.entries()) {
    await stage.create(name);
    await stage.command("schema", "update", "app.py", `cloud://${ORGANIZATION}:${name}`);
    await stage.insert(name, at);
    if (at >= awake) await stage.post(`${name}/stop`);
    if (at % 50 === 0) bench.say(`${at} databases`);
  }
  await Promise.all(names.slice(awake).map((name) => stage.until(name, "STOPPED")));
  const reading = stage.readMeanwhile();
  const waking: number[] = [];
  let right = 0;
  for (let run = 0; run < woken; run += 1) {
    // spread over all that sleep, in an order that is none
    const at = awake + ((run * 7919) % asleep);
    const name = names[at] ?? "";
    waking.push(await stage.timeWake(name));
    if (await stage.hasRow(name, at)) right += 1;
    await stage.post(`${name}/stop`);
    await stage.until(name, "STOPPED");
  }
  const times = await reading();
  const whole = await Promise.all(names.slice(0, awake).map((name, at) => stage.hasRow(name, at)));
  if (whole.includes(false)) throw new Error("A database that was awake has lost its row.");
  const of = `with ${awake} awake and ${asleep} asleep`;
  return [
    { name: `a random one is woken, ${of}`, unit: "s", digits: 2, ours: waking, limit: undefined },
    {
      name: `of ${woken} that were woken, have their row`,
      unit: "",
      ours: [right],
      limit: undefined,
      reach: { at_least: woken },
    },
    {
      name: `control plane meanwhile, list of its databases, p99, ${of}`,
      unit: "ms",
      ours: [percentile(times, 0.99)],
      limit: undefined,
      reach: { at_most: 100 },
    },
    { name: "disk of a database that sleeps", unit: "MB", ours: [await stage.diskOf()], limit: undefined },
  ];
}

/** Each run adds one package to those before; all have been fetched before, by a database that goes again. */
async function timePackages(
  stage: DatabaseStage,
  runs: number,
): Promise<{ readonly whole: number[]; readonly alone: number[] }> {
  const requirements = join(stage.project, "requirements.txt");
  const cache = join(stage.project, "..", "uv-cache");
  const write = (count: number, mark: string) =>
    writeFile(requirements, `${PACKAGES.slice(0, count).join("\n")}\n# ${mark}\n`);
  const build = async (mark: string) => {
    await write(PACKAGES.length, mark);
    await stage.command("db", "update", MAIN, "-f");
    timeUv(requirements, join(stage.project, "..", `venv-${mark}`), cache);
  };
  await build("warm");
  const whole: number[] = [];
  const alone: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const count = 1 + (run % PACKAGES.length);
    await write(count, `run ${run}`);
    whole.push(stage.time("db", "update", MAIN, "-f"));
    alone.push(timeUv(requirements, join(stage.project, "..", `venv-${run}`), cache));
  }
  return { whole, alone };
}

/** Seconds that uv itself takes for an environment with these packages. */
function timeUv(requirements: string, venv: string, cache: string): number {
  const env = { ...process.env, UV_CACHE_DIR: cache };
  const made = time(UV, ["venv", "-q", venv], { env });
  return (made + time(UV, ["pip", "install", "-q", "--python", venv, "-r", requirements], { env })) / 1000;
}

function percentile(figures: readonly number[], part: number): number {
  const sorted = [...figures].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}
