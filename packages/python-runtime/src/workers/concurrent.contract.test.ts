import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Expr } from "@appdb/contract/expressions";
import type { UdfGraph, UdfRunner } from "@appdb/engine/ports";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { testRuntime } from "@appdb/testkit/test-runtime";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createPythonWorkers } from "./python-workers.ts";
import type { PythonWorkersOptions } from "./python-workers-options.ts";

const FUNCTIONS = `
import asyncio, ctypes, os, time
import appdb as db

db.ResourcePool("api", max_concurrent=3, retries=2)
under_way = 0
most = 0

@db.udf
async def wait(n: int) -> int:
    await asyncio.sleep(30 if n < 0 else 0.05)
    return n + 1

met = 0
all_there = None

@db.udf
async def meet(n: int) -> int:
    """Returns when 256 calls are under way at once, and never before."""
    global met, all_there
    all_there = all_there or asyncio.Event()
    met += 1
    if met == 256:
        all_there.set()
    await all_there.wait()
    return n + 1

@db.udf(timeout=2)
async def block(n: int) -> int:
    if n == 13:
        time.sleep(60)
    await asyncio.sleep(0.4 if n == 12 else 0.01)
    return n

@db.udf(timeout=2)
async def seize(n: int) -> int:
    """Holds the interpreter in C code: not even the thread that watches runs."""
    if n == 13:
        ctypes.PyDLL(None).sleep(60)
    await asyncio.sleep(0.01)
    return n

@db.udf
async def leave(n: int) -> int:
    """Leaves a callback behind that holds the event loop, and waits for it only if it is 13."""
    if n >= 13:
        asyncio.get_running_loop().call_later(0.2, time.sleep, 60)
    await asyncio.sleep(1 if n == 13 else 0)
    return n

@db.udf(timeout=2)
def hang(n: int) -> int:
    if n == 13:
        time.sleep(60)
    return n

@db.udf(timeout=0.5)
def process(n: int) -> int:
    return os.getpid()

@db.udf
async def fatal(n: int) -> int:
    await asyncio.sleep(0.02)
    if n == 13:
        os._exit(3)
    return n

@db.udf(resource_pool="api")
def ask(n: int) -> int:
    global under_way, most
    under_way += 1
    most = max(most, under_way)
    time.sleep(0.02)
    under_way -= 1
    return most

@db.udf(batch_size=16)
def lengths(texts: db.Batch[str]) -> db.Batch[int]:
    return [len(texts)] * len(texts)

@db.uda
class total(db.Aggregator):
    def __init__(self):
        self.sum = 0
    def update(self, n: int) -> None:
        if n == 13:
            os._exit(3)
        if n in (11, 12):
            time.sleep(60 if n == 11 else 0.4)
        self.sum += n
    def value(self) -> int:
        return self.sum
`;

let folder: string;
let runners: UdfRunner[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-concurrent-"));
  writeFileSync(join(folder, "functions.py"), FUNCTIONS);
});

afterEach(async () => {
  await Promise.all(runners.map((runner) => runner[Symbol.asyncDispose]()));
  runners = [];
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function createRunner(options: Partial<PythonWorkersOptions> = {}): UdfRunner {
  const runner = createPythonWorkers({
    runtime: testRuntime(folder),
    modules: ["functions"],
    workers: 1,
    function_timeout_ms: 5_000,
    worker_memory_mb: 200,
    log: createSilentLog(),
    onOutput: () => {},
    ...options,
  });
  runners.push(runner);
  return runner;
}

const INT = { type: { kind: "int" }, nullable: false } as const;

function graphOf(name: string, kind: "int" | "string" = "int"): UdfGraph {
  const id = `functions:${name}`;
  const input = { name: "x", type: { kind }, nullable: false };
  const expr: Expr = { node: "udf", function: id, args: [{ node: "column", ...input }], kwargs: {}, ...INT };
  const functions = [{ id, module: "functions", name }];
  return { key: name, inputs: [input], steps: [{ name: "y", ...INT, expr }], functions };
}

const value = async (runner: UdfRunner, graph: UdfGraph, x: number | string) => {
  const { values, errors } = await runner.run(graph, [x]);
  return errors === null ? values[0] : errors.y?.kind;
};

test("runs many calls of an async function concurrently", async () => {
  const runner = createRunner();
  await runner.start();
  const results = await Promise.all(Array.from({ length: 256 }, (_, n) => value(runner, graphOf("meet"), n)));
  expect(results).toEqual(Array.from({ length: 256 }, (_, n) => n + 1));
  await eventually(() => expect(runner.stats().functions["functions:meet"]).toMatchObject({ rows: 256, running: 0 }));
});

test("cancels an async call at the general limit and keeps the worker", async () => {
  const runner = createRunner({ function_timeout_ms: 2_000 });
  expect(await Promise.all([-1, 1, 2].map((n) => value(runner, graphOf("wait"), n)))).toEqual(["timeout", 2, 3]);
  expect(runner.stats().restarts).toBe(0);
});

test("fails an async function that blocks its worker and retries its neighbours", async () => {
  const runner = createRunner();
  const results = await Promise.all([1, 13, 2].map((n) => value(runner, graphOf("block"), n)));
  expect(results).toEqual([1, "timeout", 2]);
  expect(runner.stats().restarts).toBe(1);
  expect(runner.stats().functions["functions:block"]?.errors).toBe(1);
});

test("fails an async function whose C code blocks and retries its neighbours", async () => {
  const runner = createRunner({ function_timeout_ms: 60_000 });
  const results = await Promise.all([1, 13, 2].map((n) => value(runner, graphOf("seize"), n)));
  expect(results).toEqual([1, "timeout", 2]);
  expect(runner.stats()).toMatchObject({ restarts: 2, running: 0 });
});

test("a callback that blocks the event loop ends its worker, and rows are retried", async () => {
  const runner = createRunner({ function_timeout_ms: 2_000 });
  expect(await Promise.all([1, 13, 2].map((n) => value(runner, graphOf("leave"), n)))).toEqual([1, "timeout", 2]);
  const { restarts } = runner.stats();
  // its row is answered, and rows that arrive while the loop is blocked are not lost
  expect(await value(runner, graphOf("leave"), 14)).toBe(14);
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(await Promise.all([5, 6].map((n) => value(runner, graphOf("leave"), n)))).toEqual([5, 6]);
  await eventually(() => expect(runner.stats().restarts).toBe(restarts + 1));
});

test("fails a plain function at its own limit before the general one", async () => {
  const runner = createRunner({ function_timeout_ms: 60_000 });
  await runner.start();
  const { errors } = await runner.run(graphOf("hang"), [13]);
  expect(errors?.y).toMatchObject({ kind: "timeout", function: "functions:hang", message: "ran longer than 2 s" });
  expect(await value(runner, graphOf("hang"), 5)).toBe(5);
});

test("the time until a function begins does not count for its own limit", async () => {
  const runner = createRunner();
  await runner.start();
  const pid = Number(await value(runner, graphOf("process"), 1));
  process.kill(pid, "SIGSTOP");
  const row = value(runner, graphOf("process"), 2);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  process.kill(pid, "SIGCONT");
  expect(await row).toBe(pid);
});

test("finds the row that ended its worker among many running ones", async () => {
  const runner = createRunner({ workers: 2 });
  const results = await Promise.all([...Array(20).keys()].map((n) => value(runner, graphOf("fatal"), n)));
  expect(results).toEqual([...Array(20).keys()].map((n) => (n === 13 ? "died" : n)));
});

test("applies a pool's limit to all calls", async () => {
  const runner = createRunner();
  const results = await Promise.all([...Array(30).keys()].map((n) => value(runner, graphOf("ask"), n)));
  expect(Math.max(...results.map(Number))).toBe(3);
  expect(runner.stats().pools).toEqual({ api: { running: 0, waiting: 0 } });
});

test("passes rows of many callers to a batched function together", async () => {
  const runner = createRunner();
  await runner.start();
  const results = await Promise.all(
    [...Array(64).keys()].map((n) => value(runner, graphOf("lengths", "string"), `t${n}`)),
  );
  expect(Math.max(...results.map(Number))).toBe(16);
});

test("a slow async row does not delay rows of plain functions", async () => {
  const runner = createRunner();
  await runner.start();
  const slow = value(runner, graphOf("wait"), -1);
  for (let n = 0; n < 50; n++) expect(await value(runner, graphOf("hang"), n === 13 ? 0 : n)).toBe(n === 13 ? 0 : n);
  expect(await slow).toBe("timeout");
});

test("the runner's owner answers a column's query", async () => {
  const asked: unknown[] = [];
  const runner = createRunner({
    onQuery: async (query, args) => {
      asked.push([query, args]);
      return `[${args.k}]`;
    },
  });
  const json = { type: { kind: "json" }, nullable: true } as const;
  const expr: Expr = { node: "query", query: "app:top", args: { k: { node: "column", name: "x", ...INT } }, ...json };
  const graph = { key: "q", inputs: [{ name: "x", ...INT }], steps: [{ name: "y", ...json, expr }], functions: [] };
  expect(await runner.run(graph, [9007199254740993n])).toMatchObject({ values: ["[9007199254740993]"], errors: null });
  expect(asked).toEqual([["app:top", { k: 9007199254740993n }]]);
});

const TOTAL = {
  function: { id: "functions:total", module: "functions", name: "total" },
  result: { kind: "int" },
  inputs: [{ name: "n", ...INT }],
  args: [{ name: null, expr: { node: "column", name: "n", ...INT } }],
  functions: [],
  constants: {},
  is_sorted: false,
  is_window: false,
} as const;

test("an aggregate takes streamed rows of many groups with Ints of any size", async () => {
  const runner = createRunner();
  await using fold = await runner.fold(TOTAL);
  for (let part = 0; part < 20; part++) {
    await fold.add(
      Array.from({ length: 500 }, (_, n) => n % 7),
      [Array.from({ length: 500 }, () => 2n ** 40n)],
    );
  }
  const folded = await fold.finish([99]);
  expect([...folded.keys()].sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 99]);
  const sum = [...folded.values()].reduce((total, { value }) => total + BigInt(value as number), 0n);
  expect(sum).toBe(10_000n * 2n ** 40n);
});

test("a window gives each row the value of its group up to it", async () => {
  const runner = createRunner();
  await using fold = await runner.fold({ ...TOTAL, is_sorted: true, is_window: true });
  const values = (rows: readonly { readonly value: unknown }[]) => rows.map(({ value }) => value);
  expect(values(await fold.add([1, 1, 2], [[5, 6, 7]]))).toEqual([5, 11, 7]);
  expect(values(await fold.add([2, 3], [[1, null]]))).toEqual([8, null]);
});

test("a sorted aggregation ends each group before the next", async () => {
  const runner = createRunner();
  await using fold = await runner.fold({ ...TOTAL, is_sorted: true });
  expect(await fold.add([1, 1, 2], [[5, 6, 7]])).toEqual([]);
  const folded = await fold.finish([3]);
  expect([...folded].map(([group, { value }]) => [group, value])).toEqual([
    [1, 11],
    [2, 7],
    [3, 0],
  ]);
});

test("ends an aggregation that hangs after a pause at its time limit", async () => {
  const runner = createRunner({ function_timeout_ms: 1_500 });
  await runner.start();
  await new Promise((resolve) => setTimeout(resolve, 1_600));
  await using fold = await runner.fold(TOTAL);
  await fold.add([0], [[12]]);
  expect(await fold.finish([])).toEqual(new Map([[0, { value: 12, error: null }]]));
  await using hung = await runner.fold(TOTAL);
  await new Promise((resolve) => setTimeout(resolve, 300));
  await hung.add([0], [[11]]);
  await expect(hung.finish([])).rejects.toMatchObject({ code: "function_timeout" });
});

test("ends an aggregation whose quick parts take longer than its time limit together, and keeps the worker", async () => {
  const runner = createRunner({ function_timeout_ms: 1_500, workers: 1 });
  await runner.start();
  await using long = await runner.fold(TOTAL);
  const parts = async () => {
    // a minute and more
    for (let part = 0; part < 200; part++) await long.add([0], [[12]]);
    return await long.finish([]);
  };
  await expect(parts()).rejects.toMatchObject({
    code: "function_timeout",
    message: "functions:total took longer than 1.5 s for all rows of a query.",
  });
  await using next = await runner.fold(TOTAL);
  await next.add([0], [[5]]);
  expect(await next.finish([])).toEqual(new Map([[0, { value: 5, error: null }]]));
  expect(runner.stats().restarts).toBe(0);
});

test("an aggregation whose worker ends fails and the next one runs", async () => {
  const runner = createRunner();
  await using lost = await runner.fold(TOTAL);
  await expect(
    (async () => {
      await lost.add([0, 0], [[1, 13]]);
      await lost.finish([]);
    })(),
  ).rejects.toMatchObject({ code: "worker_died" });
  await using next = await runner.fold(TOTAL);
  await next.add([0], [[5]]);
  expect(await next.finish([])).toEqual(new Map([[0, { value: 5, error: null }]]));
});

test("names a function missing in the code and runs the others", async () => {
  const runner = createRunner({ modules: ["functions", "gone"] });
  const gone = graphOf("wait");
  const missing = { ...gone, key: "gone", functions: [{ id: "functions:wait", module: "gone", name: "wait" }] };
  expect((await runner.run(missing, [1])).errors?.y).toMatchObject({ kind: "missing", function: "functions:wait" });
  expect(await value(runner, graphOf("wait"), 1)).toBe(2);
});
