import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Manifest, manifestSchema } from "@appdb/contract/manifest";
import type { Runtime } from "@appdb/contract/runtime";
import type { EngineValue } from "@appdb/contract/types";
import { createPythonWorkers } from "@appdb/python-runtime/workers/python-workers";
import { readManifest } from "@appdb/python-runtime/workers/read-manifest";
import { useJobsBench } from "@appdb/testkit/jobs-bench";
import { findCheckout } from "@appdb/testkit/postgres-binaries";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { testRuntime } from "@appdb/testkit/test-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { wholeText } from "../answers/answers.ts";
import type { CatalogTable } from "../catalog/catalog.ts";
import { planCompute, planPython } from "../compute/plan-compute.ts";
import { layOutRow } from "../compute/row-layout.ts";
import { openEndpoints } from "../endpoints/open-endpoints.ts";
import { startRecompute } from "../jobs/plan-recompute.ts";
import { fromSqlText, literalSql } from "../kinds/values.ts";
import type { SqlPool, UdfRunner } from "../ports.ts";

/** The file with every construct of an expression, applied to a real database by the real manifest writer. */
const CHECKOUT = findCheckout(import.meta.dirname);
const APP = join(CHECKOUT, "python", "tests", "every_construct.py");

/** Changes with each computation. */
const MADE_ANEW = /^(id|ids_made_\d)$/;

const PLAIN = {
  n: 7,
  m: 3,
  f: 2.5,
  s: "straße, a'b",
  b: true,
  c: false,
  t: "2024-02-29T23:59:59.5+02:00",
  d: "2024-02-29",
  u: "0189DCF9-7E8B-7000-8000-000000000000",
  j: {
    b: 1,
    a: { b: [{ b: 1 }, {}], name: "x" },
    k: 3,
    name: "bob",
    tags: ["b", "a"],
    at: "2024-01-01T00:00:00Z",
    "a b": null,
    class: 1e3,
  },
  raw: Buffer.from("a\0'\\").toString("base64"),
  vec: [1, 2.5, -0],
  shaped: { k: 1, tags: ["x"] },
};

/** Rows that exercise conversions, time zones, signs, nulls and failed cells. */
const ROWS: readonly Readonly<Record<string, unknown>>[] = [
  PLAIN,
  { ...PLAIN, n: -7, m: null, f: -0.0, b: null, s: "12", j: [1, 2, { a: 1.0 }, [1]], t: "0001-01-01T00:00:00Z" },
  { ...PLAIN, raw: null, vec: null, shaped: null, n: 0, m: 0, f: null, s: "", j: "text", d: "0001-01-01" },
  { ...PLAIN, n: -1, m: -2, f: 1e308, s: "2024-02-29T00:00:00Z", j: { a: [], k: 2.5, name: "é\n" } },
];

const { apply, catalog, isInAgreement, finish, deps, rows, transaction } = useJobsBench();
let project: string;
let runtime: Runtime;
let runner: UdfRunner;

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), "appdb-every-"));
  copyFileSync(APP, join(project, "app.py"));
  runtime = testRuntime(project);
  runner = createPythonWorkers({
    runtime,
    modules: ["app"],
    workers: 1,
    function_timeout_ms: 60_000,
    worker_memory_mb: 1_000,
    max_waiting: 10_000,
    log: createSilentLog(),
    onOutput: () => {},
  });
  await runner.start();
});

afterAll(async () => {
  await runner?.[Symbol.asyncDispose]();
  rmSync(project, { recursive: true, force: true });
});

async function manifest(change: (source: string) => string = (source) => source): Promise<Manifest> {
  writeFileSync(join(project, "app.py"), change(readFileSync(APP, "utf8")));
  return manifestSchema.parse(await readManifest({ runtime, app_file: "app.py" }));
}

async function onlyTable(): Promise<CatalogTable> {
  const [table] = (await catalog()).tables;
  if (table === undefined) throw new Error("no table");
  return table;
}

test("a file with every construct, applied twice, shows no difference", async () => {
  const first = await manifest();
  await apply(first);
  expect(await isInAgreement(first)).toBe(true);
  // Another process reads the file again, with its sets in another order.
  runtime.env.PYTHONHASHSEED = "7";
  expect(await isInAgreement(await manifest())).toBe(true);
  expect(await apply(await manifest())).toEqual([]);
});

test("the key order of dict literals is ignored; other changes are not", async () => {
  const withColumn = (written: string) => (source: string) =>
    source.replace("    risk = risky(n)", `    ${written}\n    risk = risky(n)`);
  await apply(
    await manifest(
      withColumn('pair = {"b": n, "a": {"y": 1, "x": [s]}}\n    fixed = {"q": 1, "p": [{"b": 1, "a": 2}]}'),
    ),
  );
  const same = withColumn('pair = {"a": {"x": [s], "y": 1}, "b": n}\n    fixed = {"p": [{"a": 2, "b": 1}], "q": 1}');
  expect(await isInAgreement(await manifest(same))).toBe(true);
  for (const [pair, fixed] of [
    ['{"a": {"x": [s], "y": 2}, "b": n}', '{"p": [{"a": 2, "b": 1}], "q": 1}'],
    ['{"a": {"x": [s], "y": 1}, "b": n, "c": None}', '{"p": [{"a": 2, "b": 1}], "q": 1}'],
    ['{"a": {"x": [s], "y": 1}, "b": n}', '{"p": [{"a": 2, "b": 1}], "q": 1.0}'],
  ]) {
    expect(await isInAgreement(await manifest(withColumn(`pair = ${pair}\n    fixed = ${fixed}`)))).toBe(false);
  }
});

test("inserted values equal recomputed ones and those of Python alone", {
  timeout: 120_000,
}, async () => {
  const declared = await manifest();
  await apply(declared);
  await insertRows(declared);
  const table = await onlyTable();
  const names = table.columns.map((column) => column.name).filter((name) => !MADE_ANEW.test(name));
  const all = `select ${names.map((name) => `"${name}"::text`).join(", ")}, _errors::text from every order by id`;
  const inserted = await rows(all);
  expect(inserted).toHaveLength(ROWS.length);
  expect(await pythonOnly(table, names)).toEqual(inserted.map((row) => row.slice(0, -1)));
  await recomputeAll();
  expect(await rows(all)).toEqual(inserted);
  // The comparison would prove little if most cells had failed, or if SQL computed none.
  const errors = inserted.map((row) => Object.keys(JSON.parse(row.at(-1) ?? "{}")).length);
  expect(Math.min(...errors)).toBeLessThan(names.length / 5);
  const { sql } = planCompute(table, new Map((await catalog()).functions), layOutRow(table).computed);
  expect(sql.length).toBeGreaterThan(names.length / 5);
});

async function insertRows(declared: Manifest): Promise<void> {
  const endpoints = await openEndpoints(
    { sql: deps().sql as SqlPool, udf: () => runner, log: createSilentLog(), clock: { now: Date.now } },
    { manifest: declared, target: "main", services: ["every"] },
  );
  try {
    for (const row of ROWS) {
      const answer = await endpoints.routes[0]?.handle({ body: JSON.stringify(row), headers: {}, id: "1" });
      expect(answer?.status, answer && wholeText(answer)).toBe(200);
    }
  } finally {
    await endpoints[Symbol.asyncDispose]();
  }
}

async function recomputeAll(): Promise<void> {
  let job: string | undefined;
  await transaction(async (connection) => {
    const request = { folder: "public", table: "every", columns: [], cascade: true, errors_only: false };
    job = (await startRecompute(connection, { ...request, on_error: "ignore" })).job;
  });
  expect(job).toBeDefined();
  const shared: UdfRunner = {
    run: (graph, row, signal) => runner.run(graph, row, signal),
    runBatch: (graph, columns, rows) => runner.runBatch(graph, columns, rows),
    start: () => Promise.resolve(),
    fold: (aggregation) => runner.fold(aggregation),
    stats: () => runner.stats(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  await finish([job ?? ""], deps({ udf: () => Promise.resolve(shared) }));
}

/** Every computed column of every row by one graph in Python, in PostgreSQL's text form. */
async function pythonOnly(
  table: CatalogTable,
  names: readonly string[],
): Promise<readonly (readonly (string | null)[])[]> {
  const computed = layOutRow(table).computed.filter((name) => !MADE_ANEW.test(name));
  const graph = planPython(table, new Map((await catalog()).functions), computed);
  if (graph === null) throw new Error("no graph");
  const inputs = await rows(`select ${graph.inputs.map(({ name }) => `"${name}"`).join(", ")} from every order by id`);
  const steps = graph.steps.map((step) => step.name);
  const stored = await rows(`select ${names.map((name) => `"${name}"::text`).join(", ")} from every order by id`);
  const found = await Promise.all(
    inputs.map(async (row) => {
      const values = graph.inputs.map(({ type }, at): EngineValue => {
        const text = row[at] ?? null;
        return text === null ? null : fromSqlText(type, text);
      });
      return (await runner.run(graph, values)).values;
    }),
  );
  return Promise.all(
    found.map(async (values, at) => {
      const texts = await Promise.all(
        names.map(async (name, k) => {
          const step = steps.indexOf(name);
          if (step < 0) return stored[at]?.[k] ?? null;
          return await asStored(table, name, values[step] ?? null);
        }),
      );
      return texts;
    }),
  );
}

/** A value in PostgreSQL's text form after it is stored. */
async function asStored(table: CatalogTable, name: string, value: EngineValue): Promise<string | null> {
  const type = table.columns.find((column) => column.name === name)?.type ?? { kind: "string" };
  if (value === null) return null;
  const wire = value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;
  const sql = literalSql(type.kind === "int" ? String(wire) : (wire as string | number | boolean), type);
  return (await rows(`select (${sql})::text`))[0]?.[0] ?? null;
}
