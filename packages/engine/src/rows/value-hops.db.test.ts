import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Manifest, manifestSchema } from "@appdb/contract/manifest";
import type { EngineValue } from "@appdb/contract/types";
import { createPythonWorkers } from "@appdb/python-runtime/workers/python-workers";
import { readManifest } from "@appdb/python-runtime/workers/read-manifest";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { openTestCatalog, type TestCatalog } from "@appdb/testkit/test-catalog";
import { testRuntime } from "@appdb/testkit/test-runtime";
import { afterAll, beforeAll, expect, test } from "vitest";
import { wholeText } from "../answers/answers.ts";
import { openEndpoints } from "../endpoints/open-endpoints.ts";
import { Random } from "../expressions/testing/random.ts";
import { runJobs } from "../jobs/run-jobs.ts";
import { watchJobs } from "../jobs/watch-jobs.ts";
import { fromSqlText, valueToJson } from "../kinds/values.ts";
import type { SqlPool, Statement, UdfRunner } from "../ports.ts";
import { scanMembers } from "./scan-members.ts";
import { appFile, functionsModule } from "./testing/hops-app.ts";
import { type Sample, VALUE_SPECS, type ValueSpec } from "./testing/value-specs.ts";

/** Number of rows, each with a value of every type. */
const ROWS = Number(process.env.VALUE_ROWS ?? 150);
const SEED = Number(process.env.VALUE_SEED ?? 1);
const clock = { now: Date.now };

let catalog: TestCatalog;
let sql: SqlPool;
let project: string;

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), "value-hops-"));
  writeFileSync(join(project, "functions.py"), functionsModule(VALUE_SPECS));
  catalog = await openTestCatalog();
  sql = catalog.sql;
});

afterAll(async () => {
  await catalog[Symbol.asyncDispose]();
  rmSync(project, { recursive: true, force: true });
});

test("every type survives HTTP, engine, PostgreSQL and Python unchanged", async () => {
  await catalog.apply(await manifestOf({ is_later: false }));
  await using workers = startWorkers();
  const rows = await sendRows({ sql, runner: workers, samples: samples(0), first: 0 });
  expect(rows).toEqual([]);
  expect(await storedDifferences(samples(0), 0)).toEqual([]);

  writeFileSync(join(project, "numpy.py"), 'raise ImportError("this application has no numpy")\n');
  await using plain = startWorkers();
  expect(await sendRows({ sql, runner: plain, samples: samples(1), first: 10_000, has_numpy: false })).toEqual([]);
  expect(await storedDifferences(samples(1), 10_000)).toEqual([]);
  rmSync(join(project, "numpy.py"));
}, 120_000);

test("a function gets stored values as they were sent", async () => {
  const { jobs } = await catalog.apply(await manifestOf({ is_later: true }));
  const stop = new AbortController();
  const deps = { sql, clock, log: createSilentLog(), owner: "values", udf: async () => startWorkers() };
  const running = runJobs(deps, stop.signal);
  await watchJobs(deps, jobs, () => undefined, stop.signal);
  stop.abort();
  await running;
  const conditions = VALUE_SPECS.map(({ name, sql: show }) => {
    const same = `${show(`copy_${name}`)} is not distinct from ${show(`back_${name}`)}`;
    return `(later_${name} is not distinct from saw_${name} and ${same}) as ${name}`;
  });
  const { rows } = await sql.query({ text: `select n, ${conditions.join(", ")} from "values" where n < 10000` });
  expect(rows).toHaveLength(ROWS);
  const wrong = rows.flatMap(([n, ...same]) =>
    VALUE_SPECS.flatMap(({ name }, at) => (same[at] === "t" ? [] : [`${name} of row ${n}`])),
  );
  expect(wrong).toEqual([]);
}, 120_000);

/** Injected faults, each in one place, with a type that must reveal it. */
const FAULTS: readonly (Fault & { readonly name: string; readonly shows: string })[] = [
  {
    name: "ints pass through doubles",
    shows: "int",
    toPython: (value) => (typeof value === "bigint" ? BigInt(Number(value)) : value),
  },
  {
    name: "microseconds are cut to milliseconds when they are written",
    shows: "timestamp",
    parameter: (text) => text.replace(/(:\d\d\.\d{3})\d{3}Z/g, "$1Z"),
  },
  {
    name: "microseconds are cut to milliseconds when they are read",
    shows: "timestamp",
    stored: (text) => text.replace(/(:\d\d\.\d{3})\d+\+00/g, "$1+00"),
  },
  { name: "-0.0 loses its sign", shows: "float", fromPython: (value) => (value === 0 ? 0 : value) },
  {
    name: "floats have 15 digits",
    shows: "float",
    fromPython: (value) => (typeof value === "number" ? Number(value.toPrecision(15)) : value),
  },
  { name: "blanks in Json are dropped", shows: "json", parameter: (text) => text.replaceAll(" ", "") },
  {
    name: "text is normalised",
    shows: "string",
    fromPython: (value) => (typeof value === "string" ? value.normalize("NFC") : value),
  },
  {
    name: "bytes are taken for text",
    shows: "binary",
    fromPython: (value) => (value instanceof Uint8Array ? Buffer.from(Buffer.from(value).toString()) : value),
  },
  {
    name: "arrays lose their shape",
    shows: "a_int82",
    fromPython: (value) => (isArray(value) ? `[${value.replace(/[[\]]/g, "")}]` : value),
  },
  {
    name: "arrays lose digits on their way from Python",
    shows: "a_float321",
    fromPython: (value) => (isArray(value) ? value.replace(/(\.\d{5})\d+/g, "$1") : value),
  },
  {
    name: "arrays lose digits on their way to Python",
    shows: "a_float642",
    toPython: (value) => (isArray(value) ? value.replace(/(\.\d{9})\d+/g, "$1") : value),
  },
  {
    name: "arrays lose digits on their way out of PostgreSQL",
    shows: "a_float32",
    stored: (text) => (text.startsWith("{") ? text.replace(/(\.\d{4})\d+/g, "$1") : text),
  },
  {
    name: "int64 in arrays passes through doubles",
    shows: "a_int64",
    parameter: (text) => text.replace(/\d{17,}/g, (digits) => String(BigInt(Number(digits)) % 2n ** 63n)),
  },
];

test.each(FAULTS)(
  "detects the fault: $name",
  async (fault) => {
    await using workers = startWorkers();
    const first = 20_000 + 1_000 * FAULTS.indexOf(fault);
    const some = samples(2).slice(0, 60);
    const faulty = faultyPool(fault);
    const differences = await sendRows({ sql: faulty, runner: faultyRunner(workers, fault), samples: some, first });
    const seen = [...differences, ...(await storedDifferences(some, first, faulty))];
    expect(seen.filter((line) => line.startsWith(`${fault.shows} `))).not.toEqual([]);
  },
  60_000,
);

type Values = ReadonlyMap<ValueSpec, Sample>;

function samples(round: number): readonly Values[] {
  const random = new Random(SEED * 1000 + round);
  return Array.from(
    { length: ROWS },
    (_, at) => new Map(VALUE_SPECS.map((spec) => [spec, spec.extremes[at] ?? spec.random(random)])),
  );
}

interface Sending {
  readonly sql: SqlPool;
  readonly runner: UdfRunner;
  readonly samples: readonly Values[];
  /** Key of the first row. */
  readonly first: number;
  readonly has_numpy?: boolean;
}

/** Sends rows and compares each answer with the request and with the output of Python. */
async function sendRows({
  sql: pool,
  runner,
  samples: rows,
  first,
  has_numpy: hasNumpy = true,
}: Sending): Promise<string[]> {
  await using endpoints = await openEndpoints(
    { sql: pool, udf: () => runner, log: createSilentLog(), clock },
    { manifest: await manifestOf({ is_later: false }), target: "main", services: ["api"] },
  );
  const route = endpoints.routes[0];
  const found = await Promise.all(
    rows.map(async (row, at): Promise<string[]> => {
      const members = [...row].map(([spec, sample]) => `"v_${spec.name}": ${sample.json}`);
      const body = `{"n": ${first + at}, ${members.join(", ")}}`;
      const answer = await route?.handle({ body, headers: {}, id: `row-${at}` });
      if (answer?.status !== 200) return [`row ${at}: ${answer && wholeText(answer)}`];
      const texts = scanMembers(wholeText(answer));
      return [...row].flatMap(([spec, sample]) => answerDifferences(spec, sample, texts, hasNumpy));
    }),
  );
  return found.flat();
}

function answerDifferences(spec: ValueSpec, sample: Sample, texts: ReadonlyMap<string, string>, hasNumpy: boolean) {
  const python = JSON.stringify(hasNumpy ? sample.python : sample.python.replace(/^a\w+\([\d,]*\)/, ""));
  const read = (name: string): string => spec.read?.(texts.get(name) ?? "") ?? texts.get(name) ?? "";
  const wanted: [string, string, string][] = [
    ["answers", read(`v_${spec.name}`), sample.answer],
    ["shows Python", texts.get(`saw_${spec.name}`) ?? "", python],
    ["shows Python again", texts.get(`again_${spec.name}`) ?? "", python],
  ];
  if (spec.is_rewritten === undefined) {
    wanted.push(["gets back", texts.get(`back_${spec.name}`) ?? "", texts.get(`v_${spec.name}`) ?? "none"]);
  }
  return wanted.flatMap(([what, got, want]) => (got === want ? [] : [`${spec.name} ${what} ${got}, not ${want}`]));
}

/** Compares stored values with sent ones, as PostgreSQL shows them and as the engine reads them. */
async function storedDifferences(rows: readonly Values[], first: number, pool = sql): Promise<string[]> {
  const types = new Map(
    (await manifestOf({ is_later: false })).tables[0]?.columns.map((column) => [column.name, column.type]) ?? [],
  );
  const columns = VALUE_SPECS.flatMap((spec) => [
    spec.sql(`v_${spec.name}`),
    spec.sql(`back_${spec.name}`),
    `v_${spec.name}`,
  ]);
  const text = `select n, ${columns.join(", ")} from "values" where n >= ${first} and n < ${first + rows.length} order by n`;
  const { rows: stored } = await pool.query({ text });
  return stored.flatMap(([n, ...values]) =>
    VALUE_SPECS.flatMap((spec, at) => {
      const sample = rows[Number(n) - first]?.get(spec);
      const [value, back, raw] = values.slice(3 * at, 3 * at + 3);
      const found: string[] = [];
      for (const got of spec.is_rewritten ? [value] : [value, back]) {
        if (got !== sample?.sql) found.push(`${spec.name} is stored as ${got}, not ${sample?.sql}`);
      }
      const type = types.get(`v_${spec.name}`) ?? { kind: "string" };
      const json = valueToJson(type.kind, fromSqlText(type, raw ?? ""));
      const read = spec.read?.(json) ?? json;
      return read === sample?.answer ? found : [...found, `${spec.name} is read as ${read}, not ${sample?.answer}`];
    }),
  );
}

async function manifestOf(options: { readonly is_later: boolean }): Promise<Manifest> {
  writeFileSync(join(project, "app.py"), appFile(VALUE_SPECS, options));
  return manifestSchema.parse(await readManifest({ runtime: testRuntime(project), app_file: "app.py" }));
}

function startWorkers(): UdfRunner {
  return createPythonWorkers({
    runtime: testRuntime(project),
    modules: ["functions"],
    workers: 1,
    function_timeout_ms: 60_000,
    worker_memory_mb: 1_000,
    log: createSilentLog(),
    onOutput: () => undefined,
  });
}

/** A fault and its place. */
interface Fault {
  readonly toPython?: (value: EngineValue) => EngineValue;
  readonly fromPython?: (value: EngineValue) => EngineValue;
  /** A parameter of a statement. */
  readonly parameter?: (text: string) => string;
  /** A value in the result of a statement. */
  readonly stored?: (text: string) => string;
}

function faultyRunner(runner: UdfRunner, { toPython, fromPython }: Fault): UdfRunner {
  const faulty = Object.create(runner) as UdfRunner;
  faulty.run = async (graph, row, signal) => {
    const result = await runner.run(graph, toPython === undefined ? row : row.map(toPython), signal);
    return fromPython === undefined ? result : { ...result, values: result.values.map(fromPython) };
  };
  return faulty;
}

function faultyPool({ parameter, stored }: Fault): SqlPool {
  const faulty = Object.create(sql) as SqlPool;
  faulty.query = async (statement: Statement) => {
    const values = statement.values?.map((value) =>
      typeof value === "string" ? (parameter?.(value) ?? value) : value,
    );
    const result = await sql.query(values === undefined ? statement : { ...statement, values });
    if (stored === undefined) return result;
    return { ...result, rows: result.rows.map((row) => row.map((text) => (text === null ? null : stored(text)))) };
  };
  return faulty;
}

function isArray(value: EngineValue): value is string {
  return typeof value === "string" && /^\[[[\d-]/.test(value);
}
