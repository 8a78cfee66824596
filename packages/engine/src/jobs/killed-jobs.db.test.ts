import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Expr } from "@appdb/contract/expressions";
import { bundleScript } from "@appdb/testkit/built-programs";
import { eventually } from "@appdb/testkit/eventually";
import { rowsOfWords } from "@appdb/testkit/fake-udf-runner";
import { docs, excerptColumn, fakeWorkers, upperColumn, useJobsBench } from "@appdb/testkit/jobs-bench";
import { aFunction, aTable, call, col } from "@appdb/testkit/manifest-builder";
import { expect, test } from "vitest";
import { withMadeRows } from "../compute/rows-runner.ts";
import { startRecompute } from "./plan-recompute.ts";

const { rows, apply, execute, insertDocs, deps, dsn, finish, isInAgreement, transaction } = useJobsBench();
const ROWS = 6_000;
const TIMEOUT = 120_000;

/** Runs the job in a separate process and kills it at a random moment after its first write. */
async function runAndKill(job: string): Promise<void> {
  const script = await bundleScript(fileURLToPath(import.meta.resolve("@appdb/testkit/killed-runner")));
  const done = async () => Number((await rows(`select rows_done from appdb.jobs where id = '${job}'`))[0]?.[0]);
  const before = await done();
  // The lease of the process killed before.
  await execute({ text: "update appdb.jobs set lease_until = '-infinity' where state = 'running'" });
  const child = spawn(process.execPath, [script, dsn()], { stdio: "inherit" });
  const ended = new Promise((resolve) => child.once("exit", (_code, signal) => resolve(signal)));
  try {
    await eventually(async () => expect(await done()).toBeGreaterThan(before), { timeout_ms: 30_000 });
    await sleep(Math.random() * 40);
  } finally {
    child.kill("SIGKILL");
  }
  expect(await ended).toBe("SIGKILL");
}

/** When every lease has expired. */
const later = { now: () => Date.now() + 20_000 };

/** A runner that starts then. */
function survivor(excerpt: (title: string) => string) {
  const workers = fakeWorkers({ excerpt: (row) => excerpt(String(row.title)) });
  return deps({ udf: workers.udf, owner: "survivor", clock: later });
}

async function fillDocs(): Promise<void> {
  await apply(docs());
  await insertDocs(ROWS);
  const quick = fakeWorkers({ excerpt: (row) => `old ${row.title}` });
  await finish(await apply(docs(excerptColumn(), upperColumn("loud", "excerpt"))), deps({ udf: quick.udf }));
}

async function recompute(onError: "abort" | "ignore"): Promise<string> {
  let job: string | undefined;
  const request = { folder: "public", table: "docs", columns: ["excerpt"], cascade: true, errors_only: false };
  await transaction(async (connection) => {
    job = (await startRecompute(connection, { ...request, on_error: onError })).job;
  });
  return job ?? "";
}

const RIGHT =
  "select count(*) from docs where excerpt = '<' || title || '>' and loud = upper(excerpt) and _errors is null";

test.each(["abort", "ignore"] as const)(
  "a recompute (%s) completes with right rows after repeated kills",
  { timeout: TIMEOUT },
  async (onError) => {
    await fillDocs();
    const job = await recompute(onError);
    for (let kill = 0; kill < 3; kill++) await runAndKill(job);
    const progress = await finish(
      [job],
      survivor((title) => `<${title}>`),
    );
    expect(progress.at(-1)).toMatchObject({ rows_done: ROWS, rows_total: ROWS, errors: 0 });
    expect(await rows(RIGHT)).toEqual([[String(ROWS)]]);
    expect(await rows("select count(*) from pg_tables where tablename like 'undo%'")).toEqual([["0"]]);
  },
);

test("a recompute that is killed and then fails restores every row", { timeout: TIMEOUT }, async () => {
  await fillDocs();
  const before = await rows("select md5(string_agg(excerpt || loud, '' order by _row)) from docs");
  const job = await recompute("abort");
  for (let kill = 0; kill < 2; kill++) await runAndKill(job);
  const failing = survivor((title) => {
    if (title === `title ${ROWS - 1}`) throw new Error("unlucky");
    return `<${title}>`;
  });
  await expect(finish([job], failing)).rejects.toMatchObject({ code: "recompute_failed" });
  expect(await rows("select md5(string_agg(excerpt || loud, '' order by _row)) from docs")).toEqual(before);
  expect(await rows("select count(*) from docs where _errors is not null")).toEqual([["0"]]);
});

test("a fill completes with right rows after repeated kills", { timeout: TIMEOUT }, async () => {
  await apply(docs());
  await insertDocs(ROWS);
  const manifest = docs(excerptColumn(), upperColumn("loud", "excerpt"));
  const [job = ""] = await apply(manifest);
  for (let kill = 0; kill < 3; kill++) await runAndKill(job);
  await finish(
    [job],
    survivor((title) => `<${title}>`),
  );
  expect(await rows(RIGHT)).toEqual([[String(ROWS)]]);
  expect(await isInAgreement(manifest)).toBe(true);
});

/** The table with an iterator view, which has a row for each word of a title. */
function withParts(text = "parts(title)", kwargs: Record<string, Expr> = {}): ReturnType<typeof docs> {
  const manifest = docs();
  const iterator = {
    fn: "app:parts",
    is_udf: true,
    args: [col("title", "string")],
    kwargs,
    text,
    outputs: [{ name: "word", type: { kind: "string" as const }, nullable: true, is_stored: true }],
  };
  const view = aTable("parts", [], { primary_key: [], view: { base: "docs", filter: null, columns: null, iterator } });
  return { ...manifest, tables: [...manifest.tables, view], functions: [aFunction("app:parts", "json")] };
}

test("a fill of an iterator view has the rows of each base row once after repeated kills", {
  timeout: TIMEOUT,
}, async () => {
  await apply(docs());
  await insertDocs(ROWS);
  const jobs = await apply(withParts());
  const [job = ""] = jobs;
  for (let kill = 0; kill < 3; kill++) await runAndKill(job);
  const { runner } = fakeWorkers({
    "parts.(rows)": ({ title }) => rowsOfWords(String(title).split(" ")),
  });
  await finish(jobs, deps({ udf: async () => withMadeRows(runner), owner: "survivor", clock: later }));
  const expected = `select d._row, p.n - 1, p.word from docs d, string_to_table(d.title, ' ') with ordinality as p(word, n)`;
  const made = "select _base_row, pos, word from parts";
  expect(await rows(`select count(*) from ((${expected}) except all (${made})) as missing`)).toEqual([["0"]]);
  expect(await rows(`select count(*) from (${made}) as made`)).toEqual([[String(2 * ROWS)]]);
  expect(await rows(`select distinct "parts.(rows)"::text, _errors from docs`)).toEqual([["2", null]]);
  expect(await isInAgreement(withParts())).toBe(true);
});

test("a view whose iterator changes keeps its rows until the end, whatever is killed", {
  timeout: TIMEOUT,
}, async () => {
  await apply(docs());
  await insertDocs(ROWS);
  const partsOf =
    (count: number) =>
    ({ title }: Record<string, unknown>) =>
      rowsOfWords(String(title).split(" ").slice(-count));
  const first = fakeWorkers({ "parts.(rows)": partsOf(1) });
  await finish(await apply(withParts()), deps({ udf: async () => withMadeRows(first.runner), clock: later }));
  const words = () => rows("select count(*), md5(string_agg(word, '' order by _row)) from parts");
  const before = await words();
  expect(before[0]?.[0]).toBe(String(ROWS));
  const limit: Expr = { node: "literal", value: 2, type: { kind: "int" }, nullable: false };
  const changed = withParts("parts(title, limit=2)", { limit });
  const jobs = await apply(changed);
  const shadow = (await rows("select name from appdb.columns where name like '#shadow%'"))[0]?.[0] ?? "";
  for (let kill = 0; kill < 2; kill++) await runAndKill(jobs[0] ?? "");
  expect(await words()).toEqual(before);
  const { runner } = fakeWorkers({ [shadow]: partsOf(2) });
  await finish(jobs, deps({ udf: async () => withMadeRows(runner), owner: "survivor", clock: later }));
  expect(await rows("select count(*), count(distinct _base_row) from parts")).toEqual([
    [String(2 * ROWS), String(ROWS)],
  ]);
  expect(await rows(`select distinct "parts.(rows)"::text, _errors from docs`)).toEqual([["2", null]]);
  expect(await isInAgreement(changed)).toBe(true);
});

/** The table with a view of the rows up to a number. SQL computes its column. */
function withFew(most: number): ReturnType<typeof docs> {
  const manifest = docs();
  const literal: Expr = { node: "literal", value: String(most), type: { kind: "int" }, nullable: false };
  const filter = { text: `n <= ${most}`, expr: call("op.le", "bool", col("n", "int"), literal) };
  const view = aTable("few", [upperColumn("loud", "title")], {
    primary_key: [],
    view: { base: "docs", filter, columns: null },
  });
  return { ...manifest, tables: [...manifest.tables, view] };
}

test("a view whose condition changes keeps its rows when the statement of its last transaction is killed", {
  timeout: TIMEOUT,
}, async () => {
  await apply(docs());
  await insertDocs(ROWS);
  await finish(await apply(withFew(1_000)), deps());
  const values = () => rows(`select count("few.loud"), max(n) filter (where "few.loud" is not null) from docs`);
  expect(await values()).toEqual([["1000", "1000"]]);
  await execute({
    text: "create function slow() returns trigger language plpgsql as 'begin perform pg_sleep(0.0005); return new; end'",
  });
  await execute({ text: "create trigger slow before update on docs for each row execute function slow()" });
  const jobs = await apply(withFew(4_000));
  const script = await bundleScript(fileURLToPath(import.meta.resolve("@appdb/testkit/killed-runner")));
  for (let kill = 0; kill < 2; kill++) {
    await execute({ text: "update appdb.jobs set lease_until = '-infinity' where state = 'running'" });
    const child = spawn(process.execPath, [script, dsn()], { stdio: "inherit" });
    const ended = new Promise((resolve) => child.once("exit", (_code, signal) => resolve(signal)));
    const writing = `select count(*) from pg_stat_activity
      where datname = current_database() and application_name = 'killed runner' and query like 'update "public"."docs" set%'`;
    await eventually(async () => expect(await rows(writing)).toEqual([["1"]]), { timeout_ms: 30_000 });
    await sleep(Math.random() * 200);
    child.kill("SIGKILL");
    expect(await ended).toBe("SIGKILL");
    await eventually(async () => expect(await rows(writing)).toEqual([["0"]]), { timeout_ms: 30_000 });
    expect(await values()).toEqual([["1000", "1000"]]);
  }
  await execute({ text: "drop trigger slow on docs" });
  const progress = await finish(jobs, deps({ owner: "survivor", clock: later }));
  expect(progress.at(-1)).toMatchObject({ rows_done: 3_000, rows_total: 3_000, errors: 0 });
  expect(await rows(`select count(*) from docs where "few.loud" = upper(title) and n <= 4000`)).toEqual([["4000"]]);
  expect(await values()).toEqual([["4000", "4000"]]);
  expect(await isInAgreement(withFew(4_000))).toBe(true);
});
