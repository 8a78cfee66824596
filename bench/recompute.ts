// Recomputes a column of a user function for a million rows, compared with PostgreSQL writing prepared values.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import type { Bench } from "./support/bench.ts";
import type { Measure } from "./support/report.ts";
import { cliCommand, command, type ServedProject } from "./support/served-project.ts";

const TARGET = "recompute";
const ROWS = 1_000_000;
const QUICK_ROWS = 100_000;
/** A run takes half a minute; three are enough. */
const MAX_RUNS = 3;
/** Rows of one UPDATE with prepared values: the product's maximum. */
const BATCH = 5_000;
const SAMPLE_MS = 500;

/** Rows per second of both, and the peak memory of the daemon, its worker and a PostgreSQL process meanwhile. */
export async function measureRecompute(bench: Bench): Promise<Measure[]> {
  const served = await bench.served();
  const rows = bench.runs === 1 ? QUICK_ROWS : ROWS;
  const folder = await mkdtemp(join(tmpdir(), "appdb-bench-"));
  const project = join(folder, "project");
  const ours: number[] = [];
  const kept: number[] = [];
  const limit: number[] = [];
  const memory: Memory[] = [];
  try {
    await mkdir(project);
    await writeFile(join(project, "app.py"), APP);
    await writeFile(join(project, "shorten.py"), FUNCTION);
    await command(served.env, project, ["init"]);
    await command(served.env, project, ["schema", "update", "app.py", TARGET]);
    await using pool = served.openPool(TARGET, 2);
    await pool.query(
      `insert into public.notes (_row, body, summary)
        select uuidv7(), 'A short text of a few words ' || n, 'A short text...' from generate_series(1, $1) n`,
      [rows],
    );
    for (let run = 1; run <= Math.min(bench.runs, MAX_RUNS); run += 1) {
      bench.say(`run ${run}, ${rows} rows`);
      limit.push(rows / (await timeUpdates(pool)));
      await settle(pool);
      ours.push(rows / (await timeRecompute(served, project, "ignore", memory)));
      await settle(pool);
      kept.push(rows / (await timeRecompute(served, project, "abort", memory)));
      await checkRows(pool, rows);
      await settle(pool);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const name = `recompute of a UDF column over ${rows} rows`;
  const against = "against UPDATE FROM unnest of ready values";
  return [
    { name: `${name}, ${against}`, unit: "rows/s", ours, limit, reach: { at_least: 0.6 } },
    { name: `${name}, able to put all back, ${against}`, unit: "rows/s", ours: kept, limit },
    {
      name: "most memory of daemon and worker during it, PSS",
      unit: "MB",
      ours: memory.map((of) => of.daemon),
      limit: undefined,
    },
    {
      name: "most memory of a PostgreSQL process during it, without shared buffers",
      unit: "MB",
      ours: memory.map((of) => of.postgres),
      limit: undefined,
    },
  ];
}

const APP = `import appdb as db

from shorten import shorten

Base = db.model_base()


class Notes(Base, name="notes"):
    body: db.String
    summary = shorten(body)
`;

const FUNCTION = `import appdb as db


@db.udf
def shorten(text: str) -> str:
    words = text.split()
    return " ".join(words[:3]) + ("..." if len(words) > 3 else "")
`;

/** Restores the table between measures: no dead rows, nothing left to flush. */
async function settle(pool: pg.Pool): Promise<void> {
  await pool.query("vacuum analyze public.notes");
  await pool.query("checkpoint");
}

/** Seconds of writing prepared values in consecutive batches. */
async function timeUpdates(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ _row: string; body: string }>(
    "select _row, body from public.notes order by _row",
  );
  const batches: [ids: string, values: string][] = [];
  for (let at = 0; at < rows.length; at += BATCH) {
    const batch = rows.slice(at, at + BATCH);
    const values = batch.map((row) => `"${row.body.split(" ").slice(0, 3).join(" ")}..."`);
    batches.push([`{${batch.map((row) => row._row).join(",")}}`, `{${values.join(",")}}`]);
  }
  await settle(pool);
  const began = performance.now();
  for (const values of batches) {
    await pool.query({
      name: "write",
      text: `update public.notes t set summary = u.summary
        from unnest($1::uuid[], $2::text[]) as u(id, summary) where t._row = u.id`,
      values,
    });
  }
  return (performance.now() - began) / 1000;
}

interface Memory {
  daemon: number;
  postgres: number;
}

/** Seconds of the command from start to end. */
async function timeRecompute(
  served: ServedProject,
  project: string,
  onError: "abort" | "ignore",
  memory: Memory[],
): Promise<number> {
  const { program, args } = cliCommand(["recompute", `${TARGET}/notes`, "summary", "--on-error", onError, "-f"]);
  const daemon = await daemonPid(served);
  const max: Memory = { daemon: 0, postgres: 0 };
  let sampling: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    sampling = sample(daemon, max);
  }, SAMPLE_MS);
  const began = performance.now();
  const child = spawn(program, args, { cwd: project, env: served.env, stdio: ["ignore", "ignore", "pipe"] });
  const said: Buffer[] = [];
  child.stderr.on("data", (data: Buffer) => said.push(data));
  const [code] = (await once(child, "close")) as [number | null];
  const took = (performance.now() - began) / 1000;
  clearInterval(timer);
  await sampling;
  if (code !== 0) throw new Error(`the recompute ended with ${code}: ${Buffer.concat(said)}`);
  memory.push(max);
  return took;
}

async function checkRows(pool: pg.Pool, rows: number): Promise<void> {
  const { rows: found } = await pool.query(
    "select count(*)::int as n from public.notes where summary = 'A short text...' and _errors is null",
  );
  if (found[0]?.n !== rows) throw new Error(`${rows - found[0]?.n} rows have another value than the function's`);
}

async function daemonPid(served: ServedProject): Promise<number> {
  const said = await command(served.env, served.folder, ["daemon", "status", "--json"]);
  return (JSON.parse(said) as { health: { pid: number } }).health.pid;
}

/** The daemon's Node with its job workers, and its largest PostgreSQL process. */
async function sample(daemon: number, max: Memory): Promise<void> {
  const children = await childrenOf(daemon);
  const sizes = await Promise.all(
    [daemon, ...children].map(async (pid) => {
      const program = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
      return program.includes("appdb.worker") || pid === daemon ? await megabytes(pid, "Pss") : 0;
    }),
  );
  max.daemon = Math.max(
    max.daemon,
    sizes.reduce((sum, size) => sum + size, 0),
  );
  for (const pid of await descendants(children)) {
    const program = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (program.startsWith("postgres: ")) max.postgres = Math.max(max.postgres, await megabytes(pid, "Pss_Anon"));
  }
}

async function megabytes(pid: number, field: string): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0) / 1000;
}

async function descendants(pids: readonly number[]): Promise<number[]> {
  const below = await Promise.all(pids.map((pid) => childrenOf(pid)));
  return below.flat();
}

async function childrenOf(pid: number): Promise<number[]> {
  const children: number[] = [];
  for (const entry of await readdir("/proc")) {
    const stat = /^\d+$/.test(entry) ? await readFile(`/proc/${entry}/stat`, "utf8").catch(() => "") : "";
    if (/\) \S+ (\d+)/.exec(stat)?.[1] === String(pid)) children.push(Number(entry));
  }
  return children;
}
