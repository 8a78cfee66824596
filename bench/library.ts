// The library on a table of this machine: an insert compared with psql's \copy of the same rows, a result as an Arrow
// table compared with ADBC's from the same server, the memory of a cursor, and the import of the library.
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Bench } from "./support/bench.ts";
import type { Measure } from "./support/report.ts";
import { command, type ServedProject, time } from "./support/served-project.ts";
import { installWheel } from "./wheel.ts";

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL("./support/library.py", import.meta.url));
const DATABASE = "library";
const INSERTED = 100_000;
/** What the library inserts, by the names of the measurements. */
const SOURCES = [
  { name: "insert", what: "dicts" },
  { name: "insert_frame", what: "a DataFrame" },
  { name: "insert_arrow", what: "an Arrow table" },
] as const;
const READ = 1_000_000;
/** Rows of the cursor whose memory is measured. */
const MANY = 10_000_000;
/** With the key, which the library leaves to the database. */
const COLUMNS = "id, n, x, flag, at, title";
const ROW = `uuidv7(), n, n / 8.0, n % 3 = 0, timestamptz '2026-01-01Z' + n * interval '1 s', 'Title of the row ' || n`;

export async function measureLibrary(bench: Bench): Promise<Measure[]> {
  const served = await bench.served();
  await using wheel = await installWheel(["data"], ["adbc-driver-postgresql"]);
  const dsn = served.dsnOf(DATABASE);
  const env = { ...served.env, PYTHONDONTWRITEBYTECODE: "1" };
  const measure = async (name: string, rows: number) => {
    const { stdout } = await run(wheel.python, [SCRIPT, name, String(rows), dsn], { env, cwd: served.folder });
    return Number(JSON.parse(stdout));
  };
  const isQuick = bench.runs === 1;
  const read = isQuick ? READ / 10 : READ;
  await measure("prepare", 0);
  await using pool = served.openPool(DATABASE, 1);
  const fill = (from: number, to: number) =>
    pool.query(`insert into public.read (${COLUMNS}) select ${ROW} from generate_series(${from}, ${to - 1}) n`);
  await fill(0, read);
  const inserts = await compareInserts(bench, served, dsn, (name) => measure(name, INSERTED));
  const ours: number[] = [];
  const limit: number[] = [];
  for (let at = 1; at <= bench.runs; at += 1) {
    bench.say(`run ${at} of ${bench.runs}, ${read} rows to Arrow`);
    limit.push((read / (await measure("adbc", read))) * 1_000);
    ours.push((read / (await measure("collect", read))) * 1_000);
  }
  const many = isQuick ? READ : MANY;
  bench.say(`a cursor over ${many} rows`);
  await fill(read, many);
  const daemon = await daemonOf(served);
  await writeFile(`/proc/${daemon}/clear_refs`, "5");
  const client = await measure("cursor", many);
  return [
    ...inserts,
    {
      name: `${read} rows of three columns to an Arrow table, against ADBC`,
      unit: "rows/s",
      ours,
      limit,
      reach: { at_least: 0.5 },
    },
    {
      name: `memory of the client, cursor over ${many} rows`,
      unit: "MB",
      ours: [client],
      limit: [150],
      reach: { at_most: 1 },
    },
    { name: "the daemon's meanwhile", unit: "MB", ours: [await peakOf(daemon)], limit: [150], reach: { at_most: 1 } },
    measureImport(bench, wheel.python, env),
  ];
}

async function compareInserts(
  bench: Bench,
  served: ServedProject,
  dsn: string,
  insert: (name: string) => Promise<number>,
): Promise<Measure[]> {
  const folder = await mkdtemp(join(tmpdir(), "appdb-bench-"));
  const psql = join(served.binaries, "psql");
  const statement = (text: string) => ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", text, dsn];
  const ours = SOURCES.map((): number[] => []);
  const limit: number[] = [];
  try {
    const rows = join(folder, "rows.copy");
    time(psql, statement(`\\copy (select ${ROW} from generate_series(0, ${INSERTED - 1}) n) to '${rows}'`), {});
    for (let at = 1; at <= bench.runs; at += 1) {
      bench.say(`run ${at} of ${bench.runs}, ${INSERTED} rows by the library`);
      const copy = `\\copy public.written (${COLUMNS}) from '${rows}'`;
      time(psql, statement("truncate public.written"), {});
      limit.push((INSERTED / time(psql, statement(copy), {})) * 1_000);
      for (const [source, { name }] of SOURCES.entries()) {
        time(psql, statement("truncate public.written"), {});
        ours[source]?.push((INSERTED / (await insert(name))) * 1_000);
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return SOURCES.map(({ what }, source) => ({
    name: `${INSERTED} rows of five columns by the library, ${what}, against \\copy`,
    unit: "rows/s",
    ours: ours[source] ?? [],
    limit,
    reach: { at_least: 0.5 },
  }));
}

/** Milliseconds that a Python takes to import the library and end, against one that imports nothing. */
function measureImport(bench: Bench, python: string, env: NodeJS.ProcessEnv): Measure {
  const timeOf = (code: string) => {
    const began = performance.now();
    spawnSync(python, ["-c", code], { env });
    return performance.now() - began;
  };
  const ours: number[] = [];
  const limit: number[] = [];
  for (let at = 0; at < 5 * bench.runs; at += 1) {
    limit.push(timeOf("pass"));
    ours.push(timeOf("import appdb"));
  }
  return { name: "import appdb, against a Python that imports nothing", unit: "ms", ours, limit };
}

async function daemonOf({ env, folder }: ServedProject): Promise<number> {
  const status = JSON.parse(await command(env, folder, ["daemon", "status", "--json"])) as { health: { pid: number } };
  return status.health.pid;
}

async function peakOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) / 1_000;
}
