import { createPgPool } from "@appdb/adapters/postgres/pg-pool";
import type { AppError } from "@appdb/contract/errors";
import type { Manifest, ManifestColumn } from "@appdb/contract/manifest";
import type { Progress } from "@appdb/contract/routes/local";
import { eventually } from "@appdb/testkit/eventually";
import { createFakeUdfRunner, type FakeStep, type FakeUdfRunner } from "@appdb/testkit/fake-udf-runner";
import {
  aColumn,
  aComputed,
  aFunction,
  aManifest,
  anIndex,
  aTable,
  call,
  col,
  lit,
  udf,
} from "@appdb/testkit/manifest-builder";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { createTestDatabase, type TestDatabase } from "@appdb/testkit/test-database";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SqlPool } from "../ports.ts";
import { applySchema } from "../schema/apply-schema.ts";
import { ensureCatalog } from "../schema/ensure-catalog.ts";
import { loadCatalog } from "../schema/load-catalog.ts";
import { planSchema } from "../schema/plan-schema.ts";
import type { JobDeps } from "./job-deps.ts";
import { runJobs } from "./run-jobs.ts";
import { watchJobs } from "./watch-jobs.ts";

let database: TestDatabase;
let sql: SqlPool;

beforeEach(async () => {
  database = await createTestDatabase();
  sql = createPgPool({ dsn: database.dsn, max: 6, application_name: "jobs test" });
  await ensureCatalog(sql);
});

afterEach(async () => {
  await sql[Symbol.asyncDispose]();
  await database.drop();
});

const title = col("title", "string");
const number = col("n", "int");

function docs(...columns: ManifestColumn[]): Manifest {
  const stored = [aColumn("title", "string"), aColumn("n", "int", { nullable: true })];
  return aManifest({
    tables: [aTable("docs", [...stored, ...columns])],
    functions: [aFunction("app:excerpt", "string")],
  });
}

async function apply(manifest: Manifest): Promise<readonly string[]> {
  const { version } = await loadCatalog(sql);
  const input = {
    manifest,
    target: "main",
    catalog_version: version,
    allow_destructive: true,
    runtime_id: "runtime-1",
  };
  return (await applySchema({ sql, clock: { now: Date.now }, log: createSilentLog() }, input)).jobs;
}

async function insertDocs(count: number): Promise<void> {
  await sql.query({
    text: "insert into docs (_row, title, n) select uuidv7(), 'title ' || i, i from generate_series(1, $1::int) i",
    values: [count],
  });
}

function deps(parts: Partial<JobDeps> = {}): JobDeps {
  const udf = () => Promise.reject(new Error("this test has no functions"));
  return { sql, udf, clock: { now: Date.now }, log: createSilentLog(), owner: "runner-1", ...parts };
}

/** Runs jobs until those that are named have ended. */
async function finish(ids: readonly string[], runner: JobDeps = deps()): Promise<readonly Progress[]> {
  const stop = new AbortController();
  const running = runJobs(runner, stop.signal);
  const seen: Progress[] = [];
  try {
    await watchJobs(runner, ids, (progress) => seen.push(progress), stop.signal);
  } finally {
    stop.abort();
    await running;
  }
  return seen;
}

function fake(steps: Readonly<Record<string, FakeStep>>): {
  runner: FakeUdfRunner;
  udf: JobDeps["udf"];
  asked: unknown[];
} {
  const runner = createFakeUdfRunner(steps);
  const asked: unknown[] = [];
  const start: JobDeps["udf"] = async (runtime, modules) => {
    asked.push([runtime, modules]);
    return runner;
  };
  return { runner, udf: start, asked };
}

async function rows(text: string): Promise<readonly (readonly (string | null)[])[]> {
  return (await sql.query({ text })).rows;
}

async function isInAgreement(manifest: Manifest): Promise<boolean> {
  return planSchema({ manifest, catalog: await loadCatalog(sql), target: "main" }).plan.in_agreement;
}

test("a new SQL column over 100,000 rows is filled, and unseen until then", async () => {
  await apply(docs());
  await insertDocs(100_000);
  const manifest = docs(
    aComputed("title_upper", call("string.upper", "string", title)),
    aComputed("louder", call("op.add", "string", col("title_upper", "string"), lit("!", "string"))),
  );
  const jobs = await apply(manifest);
  expect(jobs).toHaveLength(1);
  const filling = (await loadCatalog(sql)).tables[0]?.columns.find((column) => column.name === "louder");
  expect(filling?.state).toBe("filling");
  expect(await isInAgreement(manifest)).toBe(true);
  const before = (await loadCatalog(sql)).version;
  const started = performance.now();
  const progress = await finish(jobs);
  expect(performance.now() - started).toBeLessThan(20_000);
  expect(progress.at(-1)).toEqual({
    event: "progress",
    table: "docs",
    column: "louder",
    rows_done: 100_000,
    rows_total: 100_000,
  });
  expect(await rows("select count(*) from docs where louder = upper(title) || '!' and _errors is null")).toEqual([
    ["100000"],
  ]);
  const after = await loadCatalog(sql);
  expect(after.tables[0]?.columns.map((column) => column.state)).toEqual(["ready", "ready", "ready", "ready"]);
  expect(after.version).toBe(before + 1);
});

test("a column of a Python function is filled with SQL columns that read it, in the runtime of the update", async () => {
  await apply(docs());
  await insertDocs(1_200);
  const { runner, udf: start, asked } = fake({ excerpt: (row) => `<${row.title}>` });
  const jobs = await apply(
    docs(
      aComputed("excerpt", udf("app:excerpt", "string", title)),
      aComputed("loud", call("string.upper", "string", col("excerpt", "string"))),
    ),
  );
  await finish(jobs, deps({ udf: start }));
  expect(asked).toEqual([["runtime-1", ["app"]]]);
  expect(runner.calls).toHaveLength(1_200);
  expect(runner.is_disposed).toBe(true);
  expect(await rows("select count(*) from docs where excerpt = '<' || title || '>' and loud = upper(excerpt)")).toEqual(
    [["1200"]],
  );
});

test("a function that raises fails the update, says for which row and why, and its column is gone", async () => {
  await apply(docs());
  await insertDocs(1_000);
  const { udf: start } = fake({
    excerpt: (row) => {
      if (row.title === "title 700") throw new Error("no excerpt for this one");
      return "fine";
    },
  });
  const jobs = await apply(docs(aComputed("excerpt", udf("app:excerpt", "string", title))));
  const failure = await finish(jobs, deps({ udf: start })).catch((error: unknown) => error as AppError);
  const [[row] = []] = await rows("select _row from docs where title = 'title 700'");
  expect(failure).toMatchObject({
    code: "fill_failed",
    meta: {
      table: "docs",
      column: "excerpt",
      function: "app:excerpt",
      type: "ValueError",
      message: "no excerpt for this one",
      row: { _row: row },
      rows_done: 500,
      rows_total: 1_000,
    },
  });
  const [table] = (await loadCatalog(sql)).tables;
  expect(table?.columns.map((column) => column.name)).toEqual(["title", "n"]);
  expect(await rows("select count(*) from information_schema.columns where column_name = 'excerpt'")).toEqual([["0"]]);
  expect(await isInAgreement(docs(aComputed("excerpt", udf("app:excerpt", "string", title))))).toBe(false);
});

test("a value that SQL refuses goes to Python, which says what is wrong with it", async () => {
  await apply(docs());
  await insertDocs(10);
  await sql.query({ text: "update docs set n = 0 where n = 4" });
  const quotient = call("op.truediv", "float", lit("10", "int"), number);
  const { runner, udf: start } = fake({
    quotient: (row) => {
      if (row.n === 0) throw new Error("division by zero");
      return 10 / Number(row.n);
    },
  });
  const jobs = await apply(docs(aComputed("quotient", { ...quotient, nullable: true })));
  const failure = await finish(jobs, deps({ udf: start })).catch((error: unknown) => error as AppError);
  expect(failure).toMatchObject({ code: "fill_failed", meta: { message: "division by zero" } });
  expect(runner.calls).toHaveLength(10);
});
