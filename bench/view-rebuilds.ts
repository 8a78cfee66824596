// A changed condition of a view over a million rows, compared with a new table of the same rows.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import type { Bench } from "./support/bench.ts";
import type { Measure } from "./support/report.ts";
import { command } from "./support/served-project.ts";

const TARGET = "rebuild";
const ROWS = 1_000_000;
const QUICK_ROWS = 100_000;
/** A run takes a quarter of a minute; three are enough. */
const MAX_RUNS = 3;
/** One row in ten leaves the view, and as many enter it. */
const MOVED = 0.1;

/** Rows per second of `schema update` from start to end, by the rows that the view has afterwards. */
export async function measureRebuilds(bench: Bench): Promise<Measure[]> {
  const served = await bench.served();
  const rows = bench.runs === 1 ? QUICK_ROWS : ROWS;
  const moved = rows * MOVED;
  const folder = await mkdtemp(join(tmpdir(), "appdb-bench-"));
  const project = join(folder, "project");
  const ours: number[] = [];
  const limit: number[] = [];
  const update = async (from: number): Promise<void> => {
    await writeFile(join(project, "app.py"), appWith(from, from + rows));
    await command(served.env, project, ["schema", "update", "app.py", TARGET]);
  };
  try {
    await mkdir(project);
    await writeFile(join(project, "app.py"), appWith(0, rows));
    await command(served.env, project, ["init"]);
    await command(served.env, project, ["schema", "update", "app.py", TARGET]);
    await using pool = served.openPool(TARGET, 2);
    await pool.query(
      `insert into public.numbers (_row, n, body, "some.label")
        select uuidv7(), n, body, case when n < $1 then body || '!' end
        from (select n, 'A short text of a few words ' || n as body from generate_series(0, $2) n) as made`,
      [rows, rows + moved - 1],
    );
    for (let run = 1; run <= Math.min(bench.runs, MAX_RUNS); run += 1) {
      bench.say(`run ${run}, a view of ${rows} rows`);
      const from = run % 2 === 0 ? 0 : moved;
      await settle(pool);
      limit.push(rows / (await timeCopy(pool, from, rows)));
      const began = performance.now();
      await update(from);
      ours.push(rows / ((performance.now() - began) / 1000));
      await checkRows(pool, from, rows);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return [
    {
      name: `changed condition of a view of ${rows} rows, ${moved} of which are other ones, against create table as select`,
      unit: "rows/s",
      ours,
      limit,
      reach: { at_least: 0.5 },
    },
  ];
}

const appWith = (from: number, to: number) => `import appdb as db

Base = db.model_base()


class Number(Base, name="numbers"):
    n: db.Int
    body: db.String


class Some(Base, name="some", base=Number.where((Number.n >= ${from}) & (Number.n < ${to}))):
    label = Number.body + "!"
`;

/** Restores the table between measures: no dead rows, nothing left to flush. */
async function settle(pool: pg.Pool): Promise<void> {
  await pool.query("drop table if exists public.copied");
  await pool.query("vacuum analyze public.numbers");
  await pool.query("checkpoint");
}

/** Seconds of a new table with the rows that the view will have. */
async function timeCopy(pool: pg.Pool, from: number, rows: number): Promise<number> {
  const began = performance.now();
  await pool.query(
    `create table public.copied as select _row, n, body, body || '!' as label
      from public.numbers where n >= ${from} and n < ${from + rows}`,
  );
  return (performance.now() - began) / 1000;
}

/** @throws unless every row of the view has its value, and no other row has one */
async function checkRows(pool: pg.Pool, from: number, rows: number): Promise<void> {
  const { rows: found } = await pool.query(
    `select count(*)::int as n from public.numbers
      where (case when n >= $1 and n < $2 then body || '!' end) is not distinct from "some.label"`,
    [from, from + rows],
  );
  const all = rows + rows * MOVED;
  if (found[0]?.n !== all) throw new Error(`${all - found[0]?.n} rows have another value than their view's`);
}
