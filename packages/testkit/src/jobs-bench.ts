import type { Manifest, ManifestColumn } from "@appdb/contract/manifest";
import type { Progress } from "@appdb/contract/routes/local";
import type { Catalog } from "@appdb/engine/catalog/catalog";
import { loadCatalog } from "@appdb/engine/catalog/load-catalog";
import type { JobDeps } from "@appdb/engine/jobs/job-deps";
import type { SqlConnection, Statement } from "@appdb/engine/ports";
import { planSchema } from "@appdb/engine/schema/plan-schema";
import { afterEach, beforeEach } from "vitest";
import { createFakeUdfRunner, type FakeStep, type FakeUdfRunner } from "./fake-udf-runner.ts";
import { aColumn, aComputed, aFunction, aManifest, aTable, call, col, udf } from "./manifest-builder.ts";
import { finishJobs, openTestCatalog, type TestCatalog } from "./test-catalog.ts";

/** Shared setup of job tests: a table `docs` (title, n) in a separate database for each test, and runners for its
 *  jobs. */
export interface JobsBench {
  execute(statement: Statement): Promise<void>;
  rows(text: string): Promise<readonly (readonly (string | null)[])[]>;
  catalog(): Promise<Catalog>;
  dsn(): string;
  apply(
    manifest: Manifest,
    options?: { readonly recompute?: boolean; readonly runtime_id?: string; readonly target?: string },
  ): Promise<readonly string[]>;
  insertDocs(count: number): Promise<void>;
  /** Acts like an older release of a service: inserts null, marks it pending, and notifies the job in the same
   *  statement. */
  insertPending(text: string, columns: readonly string[], on?: SqlConnection): Promise<void>;
  /** A transaction that stays open while `work` runs. */
  transaction(work: (connection: SqlConnection) => Promise<void>): Promise<void>;
  deps(parts?: Partial<JobDeps>): JobDeps;
  /** Runs jobs until the named ones have ended. */
  finish(ids: readonly string[], runner?: JobDeps): Promise<readonly Progress[]>;
  isInAgreement(manifest: Manifest): Promise<boolean>;
}

/** Registers the hooks that create and drop the database. Call it once at the top of a test file. */
export function useJobsBench(): JobsBench {
  let tested: TestCatalog;

  beforeEach(async () => {
    tested = await openTestCatalog();
  });

  afterEach(async () => {
    await tested[Symbol.asyncDispose]();
  });

  function deps(parts: Partial<JobDeps> = {}): JobDeps {
    const noFunctions = () => Promise.reject(new Error("this test has no functions"));
    const { sql, clock, log } = tested;
    return { sql, udf: noFunctions, clock, log, owner: "runner-1", ...parts };
  }

  async function insertPending(
    text: string,
    columns: readonly string[],
    on: SqlConnection = tested.sql,
  ): Promise<void> {
    const [table] = (await loadCatalog(tested.sql)).tables;
    const ids = columns.map((name) => table?.columns.find((column) => column.name === name)?.id);
    const errors = Object.fromEntries(columns.map((name) => [name, "pending"]));
    await on.query({
      text: `insert into docs (_row, title, _errors) select uuidv7(), $1, $2::jsonb
        where appdb.mark_pending($3::bigint, $4::bigint[])`,
      values: [text, JSON.stringify(errors), table?.id, ids],
    });
  }

  return {
    deps,
    finish: (ids, runner = deps()) => finishJobs(runner, ids),
    insertPending,
    execute: async (statement) => void (await tested.sql.query(statement)),
    rows: (text) => tested.rows(text),
    transaction: (work) => tested.sql.transaction(work),
    catalog: () => loadCatalog(tested.sql),
    dsn: () => tested.dsn,
    apply: async (manifest, options = {}) => {
      return (await tested.apply(manifest, { allow_destructive: true, runtime_id: "runtime-1", ...options })).jobs;
    },
    insertDocs: async (count) => {
      const text =
        "insert into docs (_row, title, n) select uuidv7(), 'title ' || i, i from generate_series(1, $1::int) i";
      await tested.sql.query({ text, values: [count] });
    },
    isInAgreement: async (manifest) => {
      return planSchema({ manifest, catalog: await loadCatalog(tested.sql), target: "main" }).plan.in_agreement;
    },
  };
}

export function docs(...columns: ManifestColumn[]): Manifest {
  const stored = [aColumn("title", "string"), aColumn("n", "int", { nullable: true })];
  return aManifest({
    tables: [aTable("docs", [...stored, ...columns])],
    functions: [aFunction("app:excerpt", "string")],
  });
}

/** A column that needs Python. */
export function excerptColumn(): ManifestColumn {
  return aComputed("excerpt", udf("app:excerpt", "string", col("title", "string")));
}

/** A column that SQL computes. */
export function upperColumn(name: string, of: string): ManifestColumn {
  return aComputed(name, call("string.upper", "string", col(of, "string")));
}

/** Workers of the test, and the graphs that they got. */
export function fakeWorkers(steps: Readonly<Record<string, FakeStep>>): {
  readonly runner: FakeUdfRunner;
  readonly udf: JobDeps["udf"];
  readonly asked: readonly unknown[];
} {
  const runner = createFakeUdfRunner(steps);
  const questions: unknown[] = [];
  return {
    runner,
    asked: questions,
    udf: async (runtime, modules) => {
      questions.push([runtime, modules]);
      return runner;
    },
  };
}
