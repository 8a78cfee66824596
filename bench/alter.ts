// Alters a table while a reader holds it for 4 seconds, and measures the longest wait of a point read by key.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Bench } from "./support/bench.ts";
import type { Measure } from "./support/report.ts";
import { cliCommand, command, type ServedProject } from "./support/served-project.ts";

const TARGET = "alter";
const ROWS = 10_000;
const READERS = 4;
const HELD_MS = 4_000;

/** The longest wait of a point read in each run. @throws when the update does not complete after the reader has gone */
export async function measureAlter(bench: Bench): Promise<Measure[]> {
  const served = await bench.served();
  const folder = await mkdtemp(join(tmpdir(), "appdb-bench-"));
  const project = join(folder, "project");
  try {
    await mkdir(project);
    await writeFile(join(project, "app.py"), appText(0));
    await command(served.env, project, ["init"]);
    await command(served.env, project, ["schema", "update", "app.py", TARGET]);
    await using pool = served.openPool(TARGET, READERS + 1);
    await pool.query(
      `insert into public.docs (_row, id, title) select uuidv7(), n, 'Title ' || n from generate_series(1, $1) n`,
      [ROWS],
    );
    const quiet: number[] = [];
    const altered: number[] = [];
    for (let run = 1; run <= bench.runs; run += 1) {
      bench.say(`run ${run} of ${bench.runs}`);
      quiet.push((await longestRead(pool, () => sleep(HELD_MS))) / 1000);
      await writeFile(join(project, "app.py"), appText(run));
      altered.push((await longestRead(pool, () => updateUnderReader(pool, served, project))) / 1000);
    }
    const name = "an ALTER while a reader holds the table for 4 s: longest wait of a point read";
    return [{ name, unit: "s", ours: altered, limit: undefined, reach: { at_most: 0.3 }, digits: 3 }, quietLine(quiet)];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function quietLine(quiet: readonly number[]): Measure {
  return { name: "the same reads while nothing is altered", unit: "s", ours: quiet, limit: undefined, digits: 3 };
}

function appText(columns: number): string {
  const added = Array.from({ length: columns }, (_, n) => `    added_${n}: db.Int | None\n`);
  return `import appdb as db

Base = db.model_base()


class Docs(Base, name="docs"):
    id = db.Column(type=db.Int, primary_key=True)
    title: db.String
${added.join("")}`;
}

/** Milliseconds of the longest point read during `during`. */
async function longestRead(pool: pg.Pool, during: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let isOver = false;
  const read = async () => {
    while (!isOver) {
      const began = performance.now();
      const id = 1 + Math.floor(Math.random() * ROWS);
      const { rowCount } = await pool.query({
        name: "read",
        text: "select title from public.docs where id = $1",
        values: [id],
      });
      if (rowCount !== 1) throw new Error(`row ${id} is not there`);
      longest = Math.max(longest, performance.now() - began);
      await sleep(2);
    }
  };
  const readers = Array.from({ length: READERS }, read);
  try {
    await during();
  } finally {
    isOver = true;
    await Promise.all(readers);
  }
  return longest;
}

async function updateUnderReader(pool: pg.Pool, served: ServedProject, project: string): Promise<void> {
  const reader = await pool.connect();
  await reader.query("begin");
  await reader.query("select title from public.docs limit 1");
  const { program, args } = cliCommand(["schema", "update", "app.py", TARGET]);
  const child = spawn(program, args, { cwd: project, env: served.env, stdio: ["ignore", "ignore", "pipe"] });
  const said: Buffer[] = [];
  child.stderr.on("data", (data: Buffer) => said.push(data));
  const ended = once(child, "close") as Promise<[number | null]>;
  await sleep(HELD_MS);
  if (child.exitCode !== null) throw new Error(`the update did not wait for the reader: ${Buffer.concat(said)}`);
  await reader.query("commit");
  reader.release();
  const [code] = await ended;
  if (code !== 0) throw new Error(`the update ended with ${code}: ${Buffer.concat(said)}`);
}
