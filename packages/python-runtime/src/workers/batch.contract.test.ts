import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { EngineValue, TypeKind } from "@appdb/contract/types";
import type { UdfBatch, UdfGraph, UdfRunner } from "@appdb/engine/ports";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { testRuntime } from "@appdb/testkit/test-runtime";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { KNOWN_GRAPHS } from "./graph-numbers.ts";
import { createPythonWorkers } from "./python-workers.ts";
import type { PythonWorkersOptions } from "./python-workers-options.ts";

const FUNCTIONS = `
import asyncio, os, time
from appdb import udf

@udf
def act(text: str) -> str:
    kind, _, rest = text.partition(" ")
    with open(os.environ["NOTES"], "a") as file:
        file.write(text + "\\n")
    if kind == "raise":
        raise ValueError("no " + rest)
    if kind == "exit":
        os._exit(int(rest))
    if kind == "sleep":
        time.sleep(float(rest))
    if kind == "hold":
        while not os.path.exists(rest):
            time.sleep(0.01)
    if kind == "film":
        from appdb.kinds._media import scratch_file
        return scratch_file(".mp4")
    if kind == "gulp":
        bytearray(int(rest)).find(b"x")
    return text if kind == "hold" else text.upper()

@udf
def same_int(n: int) -> int:
    return n

@udf
def same_float(x: float) -> float:
    return x

@udf
async def later(text: str) -> str:
    await asyncio.sleep(0.01)
    return text.upper()

met = 0
all_there = None

@udf
async def meet(text: str) -> str:
    """Returns when 100 calls are under way at once, and never before."""
    global met, all_there
    all_there = all_there or asyncio.Event()
    met += 1
    if met == 100:
        all_there.set()
    await all_there.wait()
    return text.upper()
`;
const never = new AbortController().signal;

let folder: string;
let runner: UdfRunner | undefined;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-batch-"));
  writeFileSync(join(folder, "functions.py"), FUNCTIONS);
  writeFileSync(join(folder, "broken.py"), "raise RuntimeError('not today')\n");
});

afterEach(async () => {
  await runner?.[Symbol.asyncDispose]();
  rmSync(join(folder, "notes"), { force: true });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function createRunner(options: Partial<PythonWorkersOptions> = {}): UdfRunner {
  runner = createPythonWorkers({
    runtime: testRuntime(folder, { NOTES: join(folder, "notes") }),
    modules: ["functions"],
    workers: 1,
    function_timeout_ms: 5_000,
    worker_memory_mb: 200,
    log: createSilentLog(),
    onOutput: () => {},
    ...options,
  });
  return runner;
}

function graphOf(name: string, kind: TypeKind = "string"): UdfGraph {
  const type = { kind };
  const id = `functions:${name}`;
  const args = [{ node: "column" as const, name: "x", type, nullable: true }];
  const expr = { node: "udf" as const, function: id, args, kwargs: {}, type, nullable: true };
  return {
    key: name,
    inputs: [{ name: "x", type, nullable: true }],
    steps: [{ name: "y", type, nullable: true, expr }],
    functions: [{ id, module: "functions", name }],
  };
}

async function whole(batch: UdfBatch, rows: number): Promise<UdfBatch> {
  while (batch.ready < rows) await batch.wait(1_000, never);
  return batch;
}

async function run(graph: UdfGraph, column: readonly EngineValue[], of = createRunner()): Promise<UdfBatch> {
  return whole(of.runBatch(graph, [column], column.length), column.length);
}

function ran(text: string): number {
  return readFileSync(join(folder, "notes"), "utf8")
    .split("\n")
    .filter((line) => line === text).length;
}

const many = (count: number) => Array.from({ length: count }, (_, n) => `row ${n}`);

test("returns and counts thousands of rows in order", async () => {
  const texts = many(5_000);
  const of = createRunner({ workers: 2 });
  const batch = await run(graphOf("act"), texts, of);
  expect(batch.columns).toEqual([texts.map((text) => text.toUpperCase())]);
  expect(batch.errors.size).toBe(0);
  expect(of.stats()).toMatchObject({ waiting: 0, running: 0, calls: 5_000 });
});

test("a worker computes more graphs than it knows at a time", async () => {
  const of = createRunner();
  const graphs = Array.from({ length: KNOWN_GRAPHS + 20 }, (_none, at) => {
    return { ...graphOf(at % 3 === 0 ? "later" : "act"), key: `graph ${at}` };
  });
  for (const round of ["one", "two"]) {
    for (const [at, graph] of graphs.entries()) {
      const { columns } = await run(graph, [`${round} ${at}`], of);
      expect(columns).toEqual([[`${round.toUpperCase()} ${at}`]]);
    }
  }
});

test("returns values of every width from a batch unchanged", async () => {
  const ints = [0, -1, 2 ** 40, -(2 ** 53) + 1, 9_223_372_036_854_775_807n, null];
  const floats = [0.1, -0, 3, 1e300, null];
  const of = createRunner();
  expect((await run(graphOf("same_float", "float"), floats, of)).columns).toEqual([floats]);
  expect((await run(graphOf("same_int", "int"), ints, of)).columns).toEqual([ints]);
});

test("rows that raise get errors and their neighbours get values", async () => {
  const texts = many(600).map((text, n) => (n % 100 === 7 ? `raise ${n}` : text));
  const batch = await run(graphOf("act"), texts);
  expect([...batch.errors.keys()]).toEqual([7, 107, 207, 307, 407, 507]);
  expect(batch.errors.get(107)).toMatchObject({ y: { kind: "raised", type: "ValueError", message: "no 107" } });
  expect([batch.columns[0]?.[107], batch.columns[0]?.[108]]).toEqual([null, "ROW 108"]);
});

test("retries a row that ends its worker once, alone, before failing it", async () => {
  const texts = many(2_000).with(1_234, "exit 3");
  const batch = await run(graphOf("act"), texts);
  expect([...batch.errors.keys()]).toEqual([1_234]);
  expect(batch.errors.get(1_234)).toMatchObject({
    y: { kind: "died", message: expect.stringContaining("exit code 3") },
  });
  expect(batch.columns[0]).toEqual(texts.map((text, n) => (n === 1_234 ? null : text.toUpperCase())));
  expect(ran("exit 3")).toBe(2);
});

test("fails a row that exceeds its time limit after one run", async () => {
  const texts = many(500).with(300, "sleep 60");
  const batch = await run(graphOf("act"), texts, createRunner({ function_timeout_ms: 2_000 }));
  expect([...batch.errors.keys()]).toEqual([300]);
  expect(batch.errors.get(300)).toMatchObject({ y: { kind: "timeout" } });
  expect(batch.columns[0]?.filter((value) => value !== null)).toHaveLength(499);
  expect(ran("sleep 60")).toBe(1);
});

test("retries an out-of-memory row in another process before failing it", async () => {
  const texts = many(300).with(150, "gulp 900000000");
  const batch = await run(graphOf("act"), texts);
  expect([...batch.errors.keys()]).toEqual([150]);
  expect(batch.errors.get(150)).toMatchObject({ y: { kind: "memory" } });
  expect(batch.columns[0]?.filter((value) => value !== null)).toHaveLength(299);
  expect(ran("gulp 900000000")).toBe(2);
});

test("delivers finished rows of a batch while a slow one still runs", async () => {
  const free = join(folder, "delivered");
  const batch = createRunner({ function_timeout_ms: 60_000 }).runBatch(
    graphOf("act"),
    [["a", "b", `hold ${free}`, "c"]],
    4,
  );
  while (batch.ready < 2) await batch.wait(50, never);
  expect(batch.columns[0]?.slice(0, 2)).toEqual(["A", "B"]);
  writeFileSync(free, "");
  await whole(batch, 4);
  expect(batch.columns).toEqual([["A", "B", `hold ${free}`, "C"]]);
});

test("files of the library tell which worker made them", async () => {
  const scratch = join(folder, "scratch");
  mkdirSync(scratch);
  const of = createRunner({ runtime: testRuntime(folder, { NOTES: join(folder, "notes"), APPDB_SCRATCH: scratch }) });
  const [[first]] = (await run(graphOf("act"), ["film"], of)).columns as [[string]];
  await run(graphOf("act"), ["exit 3"], of);
  const [[second]] = (await run(graphOf("act"), ["film"], of)).columns as [[string]];
  const [one, other] = [first, second].map((path) => /^worker-[0-9a-f]{16}-/.exec(basename(path))?.[0]);
  expect([one, other]).toEqual([expect.any(String), expect.any(String)]);
  expect(one).not.toBe(other);
});

test("moves rows behind a slow one to a free worker", async () => {
  const of = createRunner({ workers: 2, function_timeout_ms: 60_000 });
  await of.start();
  await run(graphOf("act"), many(500), of);
  const free = join(folder, "moved");
  const texts = many(400).with(0, `hold ${free}`);
  const batch = of.runBatch(graphOf("act"), [texts], 400);
  while (batch.columns[0]?.slice(1).includes(null)) await batch.wait(20, never);
  expect(batch.ready).toBe(0);
  writeFileSync(free, "");
  expect((await whole(batch, 400)).columns[0]?.[0]).toBe(`hold ${free}`);
});

test("runs many rows of an async function concurrently", async () => {
  const texts = many(1_000);
  const batch = await run(graphOf("meet"), texts);
  expect(batch.columns).toEqual([texts.map((text) => text.toUpperCase())]);
});

test("rows of a dropped batch that have not begun never run", async () => {
  const of = createRunner({ function_timeout_ms: 60_000 });
  const left = of.runBatch(graphOf("act"), [["sleep 1", ...many(3_000)]], 3_001);
  await eventually(async () => expect(ran("sleep 1")).toBe(1));
  left.drop();
  expect(of.stats().waiting).toBe(0);
  // the worker has the first rows already
  expect((await run(graphOf("act"), ["after"], of)).columns).toEqual([["AFTER"]]);
  expect(ran("row 2999")).toBe(0);
});

test("a batch ends with its workers, and its caller may stop waiting", async () => {
  const of = createRunner();
  const batch = of.runBatch(graphOf("act"), [["sleep 30", ...many(3_000)]], 3_001);
  const gone = new AbortController();
  const waiting = batch.wait(60_000, gone.signal);
  gone.abort(new Error("not wanted"));
  await expect(waiting).rejects.toThrow("not wanted");
  await of[Symbol.asyncDispose]();
  await expect(batch.wait(1_000, never)).rejects.toMatchObject({ code: "worker_unavailable" });
  const broken = createRunner({ modules: ["broken"] });
  await expect(broken.runBatch(graphOf("act"), [["a"]], 1).wait(20_000, never)).rejects.toMatchObject({
    code: "worker_unavailable",
  });
});
