// Hosted databases through the complete product, as users and programs use it: with the built command and control plane
// requests, with the machine's pod driver.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type HostedDatabases, MAIN, ORGANIZATION, seconds, setDatabases } from "./hosted-databases.ts";
import type { Bench } from "./support/bench.ts";
import type { Measure } from "./support/report.ts";
import { time } from "./support/served-project.ts";
import { spread } from "./support/statistics.ts";

/** Files of a project. */
const FILES = 1_000;
/** Number of concurrent creators of databases. */
const MAKERS = 4;
const TOOLS = fileURLToPath(new URL("../.tools/bin", import.meta.url));
const UV = join(TOOLS, "uv");
/**
 * Packages of the project, made for the benchmark, so that no index affects the figures. The last one is the new
 * dependency.
 */
const PACKAGES = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"];
/** File name of a package. */
const wheelOf = (name: string) => `bench_${name}-1-py3-none-any.whl`;
/** Makes the wheels named by its arguments in this folder. */
const MAKE_WHEELS = `import sys, zipfile
for name in sys.argv[1:]:
    package = name.split("-")[0]
    info = package + "-1.dist-info/"
    with zipfile.ZipFile(name, "w") as wheel:
        for at in range(50):
            wheel.writestr(f"{package}/part_{at}.py", "VALUE = 1\\n")
        wheel.writestr(info + "METADATA", f"Metadata-Version: 2.1\\nName: {package}\\nVersion: 1\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "RECORD", "".join(f"{file},,\\n" for file in wheel.namelist() + [info + "RECORD"]))
`;
/** After this time without requests a database is certainly idle. */
const IDLE_MS = 120_000;
const QUICK_IDLE_MS = 5_000;

/** Creates, updates and wakes the databases of one organization. */
export async function measureDatabases(bench: Bench): Promise<Measure[]> {
  const sandboxed = await measureSandbox(bench);
  await using hosted = await setDatabases("process", FILES);
  const plain = { unit: "s", limit: undefined, digits: 2 };
  const created = await hosted.timeCreation();
  await hosted.command("schema", "update", "app.py", MAIN);
  await hosted.insert("main", 1);

  const changed: number[] = [];
  for (let run = 0; run < bench.runs; run += 1) {
    await writeFile(join(hosted.folder, "lib", "file_7.py"), `VALUE = ${run}\n`);
    changed.push(hosted.time("db", "update", MAIN, "-f"));
  }
  const { asleep, waking } = await timeSleep(hosted, bench.runs * 3);
  const { alone, whole } = await timePackages(hosted, bench.runs);
  await sleep(bench.runs === 1 ? QUICK_IDLE_MS : IDLE_MS);
  const idle = await hosted.memory();
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
    ...sandboxed,
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

/** The same start with isolated databases; empty where the machine does not support that. */
async function measureSandbox(bench: Bench): Promise<Measure[]> {
  const hosted = await setDatabases("sandbox", FILES).catch((error: unknown) => {
    bench.say(`no databases in sandboxes are measured: ${error instanceof Error ? error.message : error}`);
    return undefined;
  });
  if (hosted === undefined) return [];
  await using _stage = hosted;
  await hosted.timeCreation();
  await hosted.command("schema", "update", "app.py", MAIN);
  const { waking } = await timeSleep(hosted, bench.runs * 3);
  return [
    { name: "the same in a sandbox", unit: "s", digits: 2, ours: waking, limit: undefined, reach: { at_most: 0.65 } },
  ];
}

async function timeSleep(hosted: HostedDatabases, runs: number): Promise<{ asleep: number[]; waking: number[] }> {
  const [asleep, waking]: [number[], number[]] = [[], []];
  for (let run = 0; run < runs; run += 1) {
    const ended = performance.now();
    await hosted.post("main/stop");
    await hosted.until("main", "STOPPED");
    asleep.push(seconds(ended));
    waking.push(await hosted.timeWake("main"));
  }
  return { asleep, waking };
}

/** Many databases, awake and asleep, each with its own cluster and a unique row. */
export async function measureManyDatabases(bench: Bench): Promise<Measure[]> {
  const [awake, asleep, woken] = bench.runs === 1 ? [4, 12, 6] : [20, 500, 50];
  await using hosted = await setDatabases("process", 2);
  await hosted.timeCreation();
  const names = Array.from({ length: awake + asleep }, (_none, at) => `d${at}`);
  const left = [...names.entries()];
  const makeSome = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [at, name] = next;
      await hosted.create(name);
      await hosted.command("schema", "update", "app.py", `cloud://${ORGANIZATION}:${name}`);
      await hosted.insert(name, at);
      if (at >= awake) await hosted.post(`${name}/stop`);
      if (at % 50 === 0) bench.say(`${at} databases`);
    }
  };
  await Promise.all(Array.from({ length: MAKERS }, makeSome));
  await Promise.all(names.slice(awake).map((name) => hosted.until(name, "STOPPED")));
  const reading = hosted.readMeanwhile();
  const waking: number[] = [];
  let right = 0;
  for (let run = 0; run < woken; run += 1) {
    // a fixed pseudo-random selection among the sleeping ones
    const at = awake + ((run * 7919) % asleep);
    const name = names[at] ?? "";
    waking.push(await hosted.timeWake(name));
    if (await hosted.hasRow(name, at)) right += 1;
    await hosted.post(`${name}/stop`);
    await hosted.until(name, "STOPPED");
  }
  const times = await reading();
  const whole = await Promise.all(names.slice(0, awake).map((name, at) => hosted.hasRow(name, at)));
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
    { name: "disk of a database that sleeps", unit: "MB", ours: [await hosted.diskOf()], limit: undefined },
  ];
}

/** Each run adds one package. All were fetched before by a temporary database. */
async function timePackages(
  hosted: HostedDatabases,
  runs: number,
): Promise<{ readonly whole: number[]; readonly alone: number[] }> {
  const requirements = join(hosted.folder, "requirements.txt");
  const cache = join(hosted.folder, "..", "uv-cache");
  const lines = PACKAGES.map((name) => `./${wheelOf(name)}`);
  const write = (count: number, mark: string) =>
    writeFile(requirements, `${lines.slice(0, count).join("\n")}\n# ${mark}\n`);
  makeWheels(hosted);
  const build = async (mark: string) => {
    await write(PACKAGES.length, mark);
    await hosted.command("db", "update", MAIN, "-f");
    timeUv(hosted.folder, join(hosted.folder, "..", `venv-${mark}`), cache);
  };
  await build("warm");
  const whole: number[] = [];
  const alone: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const count = 1 + (run % PACKAGES.length);
    await write(count, `run ${run}`);
    whole.push(hosted.time("db", "update", MAIN, "-f"));
    alone.push(timeUv(hosted.folder, join(hosted.folder, "..", `venv-${run}`), cache));
  }
  return { whole, alone };
}

function makeWheels({ folder }: Pick<HostedDatabases, "folder">): void {
  time(join(TOOLS, "python"), ["-c", MAKE_WHEELS, ...PACKAGES.map(wheelOf)], { cwd: folder });
}

/** Adds a small package to `main` and waits for its image. */
export async function buildSmallImage(hosted: HostedDatabases): Promise<void> {
  makeWheels(hosted);
  await writeFile(join(hosted.folder, "requirements.txt"), `./${wheelOf(PACKAGES[0] ?? "")}\n`);
  await hosted.command("db", "update", MAIN, "-f");
}

/** Seconds of uv alone for an environment with the project's requirements. */
function timeUv(project: string, venv: string, cache: string): number {
  const options = { cwd: project, env: { ...process.env, UV_CACHE_DIR: cache } };
  const made = time(UV, ["venv", "-q", venv], options);
  return (made + time(UV, ["pip", "install", "-q", "--python", venv, "-r", "requirements.txt"], options)) / 1000;
}

function percentile(figures: readonly number[], part: number): number {
  const sorted = [...figures].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}
