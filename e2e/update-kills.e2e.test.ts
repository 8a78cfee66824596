import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@appdb/testkit/eventually";
import type { TestProject } from "@appdb/testkit/test-project";
import { expect, test } from "vitest";
import { expectExit, makeProject, query, writeFile } from "./support/served.ts";
import { findVictims, kill } from "./support/victims.ts";

/**
 * An update that changes everything at once and is interrupted by the end of its daemon completes when it is run again.
 */
const LONG = process.env.APPDB_FAULTS === "long";
const POINTS = LONG ? 40 : 4;
const ROWS = 1_500;
const MANY = LONG ? 1_000_000 : 8_000;

const HEAD = `import appdb as db
from appdb.functions import lower, upper
Base = db.model_base()

@db.udf
def measure(text: str) -> int:
    return len(text)
`;
const BEFORE = `${HEAD}
class Docs(Base, name="docs"):
    title: db.String
    n: db.Int
    note: db.String | None
    up = upper(title)
`;
/** Renames, an alteration, a fill by SQL and one by Python, another type, an index, a dropped column. */
const AFTER = `${HEAD}
class Papers(Base, name="papers", renamed_from="docs", comment="renamed"):
    headline = db.Column(db.String, renamed_from="title")
    n: db.Float
    up = lower(headline)
    size = measure(headline)
    twice = size + size
    __indexes__ = [db.BtreeIndex(up)]
`;

async function prepare(project: TestProject, database: string, rows: number): Promise<void> {
  await expectExit(project, 0, "schema", "update", "before.py", database);
  const insert = `insert into docs (_row, title, n, note, up)
    select uuidv7(), 'Title ' || i, i, 'x', upper('Title ' || i) from generate_series(1, ${rows}) i`;
  await query(project, insert, database);
}

const UPDATE = ["schema", "update", "after.py"] as const;
const CONSENT = ["--allow-destructive", "-f"] as const;

function update(project: TestProject, database: string) {
  return project.cli(...UPDATE, database, ...CONSENT);
}

interface Running {
  /** Until the plan is printed; from then on the daemon applies it. */
  planned(): Promise<unknown>;
  /** The command's exit status. */
  readonly ended: Promise<number | null>;
}

function startUpdate(project: TestProject, database: string): Running {
  const { child, output } = project.start(["cli", ...UPDATE, database, ...CONSENT].join(" "));
  const ended = once(child, "close").then(() => child.exitCode);
  const isPrinted = () => expect(output()).toContain("will be");
  return { planned: () => eventually(isPrinted, { timeout_ms: 60_000, interval_ms: 5 }), ended };
}

/** Kills the daemon like a crash, if there is one. */
function killDaemon(project: TestProject): void {
  for (const pid of findVictims("daemon", project.home)) kill(pid);
}

async function expectDone(project: TestProject, database: string, rows: number): Promise<void> {
  await expectExit(project, 0, "schema", "diff", "after.py", database);
  const ask = async (text: string) => (await query(project, text, database)).map((row) => row.map(String));
  expect(
    await ask(`select count(*), count(*) filter (where up = lower(headline) and size = length(headline)
      and twice = 2 * size and headline = 'Title ' || n::text and _errors is null) from papers`),
  ).toEqual([[String(rows), String(rows)]]);
  expect(await ask("select to_regclass('docs') is null")).toEqual([["true"]]);
  const columns = `select string_agg(column_name || ' ' || data_type, ', ' order by column_name)
    from information_schema.columns where table_name = 'papers' and column_name !~ '^_'`;
  expect(await ask(columns)).toEqual([["headline text, n double precision, size bigint, twice bigint, up text"]]);
  const indexes = `select c.relname, i.indisvalid from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid = 'papers'::regclass order by 1`;
  expect(await ask(indexes)).toEqual([
    ["papers(up)", "true"],
    ["papers.errors", "true"],
    ["papers.pkey", "true"],
  ]);
  expect(await ask("select state, count(*) from appdb.jobs where state in ('queued', 'running') group by 1")).toEqual(
    [],
  );
  expect(await ask("select count(*) from pg_class where relname like 'undo %'")).toEqual([["0"]]);
}

test(
  `completes an update after the daemon is killed at ${POINTS} moments of it`,
  async () => {
    await using project = await makeProject("");
    writeFile(project, "before.py", BEFORE);
    writeFile(project, "after.py", AFTER);
    let planMs = Number.POSITIVE_INFINITY;
    let applyMs = Number.POSITIVE_INFINITY;
    for (const database of ["whole", "again"]) {
      await prepare(project, database, ROWS);
      const started = performance.now();
      const { planned, ended } = startUpdate(project, database);
      await planned();
      const began = performance.now();
      expect(await ended).toBe(0);
      planMs = Math.min(planMs, began - started);
      applyMs = Math.min(applyMs, performance.now() - began);
      await expectDone(project, database, ROWS);
    }

    let cut = 0;
    // the first kill happens during planning, which the command may survive
    for (let point = -1; cut < POINTS; point += 1) {
      expect(point, "most moments must lie inside of the update").toBeLessThan(POINTS * 2);
      const database = `d${point + 1}`;
      await prepare(project, database, ROWS);
      const { planned, ended } = startUpdate(project, database);
      if (point < 0) await sleep(planMs / 2);
      else await planned();
      const began = performance.now();
      if (point >= 0) await sleep((applyMs * ((point % POINTS) + 0.5)) / POINTS);
      killDaemon(project);
      const exit = await ended;
      if (point >= 0 && exit !== 0) cut += 1;
      else if (point >= 0) applyMs = Math.min(applyMs, performance.now() - began);
      await finish(project, database);
      await expectDone(project, database, ROWS);
    }
  },
  LONG ? 3_600_000 : 600_000,
);

/** Repeats the command, as the hint says, until it succeeds. */
async function finish(project: TestProject, database: string): Promise<void> {
  await eventually(
    async () => {
      const again = await update(project, database);
      expect(again.code, again.stdout + again.stderr).toBe(0);
    },
    { timeout_ms: 90_000 },
  );
}

test(
  `resumes an update of ${MANY.toLocaleString("en")} rows killed halfway`,
  async () => {
    await using project = await makeProject("");
    writeFile(project, "before.py", BEFORE);
    writeFile(project, "after.py", AFTER);
    await prepare(project, "main", MANY);
    const first = update(project, "main");
    const progress = "select rows_done from appdb.jobs where kind in ('fill', 'recompute') order by seq desc limit 1";
    const half = await eventually(
      async () => {
        const [[done] = [0]] = await query(project, progress);
        expect(Number(done)).toBeGreaterThan(MANY / 4);
        return Number(done);
      },
      { timeout_ms: LONG ? 1_200_000 : 60_000, interval_ms: 5 },
    );
    killDaemon(project);
    expect((await first).code).not.toBe(0);
    const again = update(project, "main");
    const resumed = await eventually(async () => Number((await query(project, progress))[0]?.[0] ?? 0), {
      timeout_ms: 60_000,
    });
    // Completed work is not repeated.
    expect(resumed).toBeGreaterThanOrEqual(half);
    const ended = await again;
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    await expectDone(project, "main", MANY);
  },
  LONG ? 3_600_000 : 240_000,
);
