import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import type { EngineValue, TypeKind } from "@appdb/contract/types";
import type { UdfGraph, UdfResult, UdfRunner } from "@appdb/engine/ports";
import { eventually } from "@appdb/testkit/eventually";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { testRuntime } from "@appdb/testkit/test-runtime";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createPythonWorkers } from "./python-workers.ts";
import type { PythonWorkersOptions } from "./python-workers-options.ts";
import { UNRULY_FUNCTIONS } from "./testing/unruly-functions.ts";

let folder: string;
let runners: UdfRunner[] = [];
const output: string[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-udf-"));
  writeFileSync(join(folder, "functions.py"), UNRULY_FUNCTIONS);
  writeFileSync(join(folder, "broken.py"), "import functions\nimport no_such_module_here\n");
});

afterEach(async () => {
  await Promise.all(runners.map((runner) => runner[Symbol.asyncDispose]()));
  runners = [];
  output.length = 0;
  rmSync(join(folder, "pids"), { force: true });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function createRunner(
  options: Partial<PythonWorkersOptions> & { python?: string; launcher?: string[]; env?: Record<string, string> } = {},
): UdfRunner {
  const runtime = testRuntime(folder, { PIDS: join(folder, "pids"), ...options.env });
  const runner = createPythonWorkers({
    runtime: {
      ...runtime,
      python: options.python ?? runtime.python,
      ...(options.launcher === undefined ? {} : { launcher: options.launcher }),
    },
    modules: ["functions"],
    workers: 1,
    function_timeout_ms: 5_000,
    worker_memory_mb: 200,
    log: createSilentLog(),
    onOutput: (line) => output.push(line),
    ...options,
  });
  runners.push(runner);
  return runner;
}

/** A graph with one column that calls one function with one argument. */
function graphOf(name: string, kind: TypeKind = "string"): UdfGraph {
  const type = { kind };
  const args: Expr[] = [{ node: "column", name: "x", type, nullable: true }];
  const id = `functions:${name}`;
  return {
    key: name,
    inputs: [{ name: "x", type, nullable: true }],
    steps: [
      { name: "y", type, nullable: true, expr: { node: "udf", function: id, args, kwargs: {}, type, nullable: true } },
    ],
    functions: [{ id, module: "functions", name }],
  };
}

const act = graphOf("act");

function value(text: EngineValue): UdfResult {
  return { values: [text], errors: null };
}

function notes(): string[] {
  const path = join(folder, "pids");
  return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
}

function workerPid(): number {
  return Number(notes().at(-1)?.split(" ")[0]);
}

test("returns values of every width unchanged", async () => {
  const runner = createRunner();
  const ints = [0, -1, 2 ** 40, 2 ** 53 - 1, 2n ** 62n, -(2n ** 63n), 2n ** 63n - 2n];
  const results = await Promise.all(ints.map((n) => runner.run(graphOf("plus_one", "int"), [n])));
  expect(results.map(({ values }) => String(values[0]))).toEqual(ints.map((n) => String(BigInt(n) + 1n)));
  const floats = [0, -0, 1, 1.5, 5e-324, 1e308, 2 ** 60];
  const back = await Promise.all(floats.map((x) => runner.run(graphOf("same", "float"), [x])));
  expect(back.map(({ values }) => values[0])).toEqual(floats);
  expect(await runner.run(graphOf("upper"), ["straße 👩‍👧"])).toEqual(value("STRASSE 👩‍👧"));
  expect(await runner.run(graphOf("upper"), [null])).toEqual(value(null));
});

test("a function that raises or returns a wrong type fails only its row", async () => {
  const runner = createRunner();
  const [raised, wrong, fine] = await Promise.all(["raise luck", "wrong", "fine"].map((x) => runner.run(act, [x])));
  expect(raised?.errors?.y).toMatchObject({
    kind: "raised",
    function: "functions:act",
    type: "ValueError",
    message: "no luck",
  });
  expect(raised?.errors?.y?.at).toMatch(/^functions\.py:\d+$/);
  expect(wrong?.errors?.y).toMatchObject({ kind: "wrong_type", function: "functions:act" });
  expect(fine).toEqual(value("fine"));
});

test("retries a row that ends its process once, alone, before failing it", async () => {
  const runner = createRunner();
  await runner.start();
  const rows = [
    ...Array.from({ length: 20 }, (_, i) => `a ${i}`),
    "exit 3",
    ...Array.from({ length: 20 }, (_, i) => `b ${i}`),
  ];
  const results = await Promise.all(rows.map((x) => runner.run(act, [x])));
  for (const [i, result] of results.entries()) {
    if (rows[i] !== "exit 3") expect(result).toEqual(value(rows[i] as string));
    else expect(result.errors?.y).toMatchObject({ kind: "died", function: "functions:act", type: "WorkerDied" });
  }
  expect(results[20]?.errors?.y?.message).toContain("exit code 3");
  expect(notes().filter((note) => note.endsWith("exit 3"))).toHaveLength(2);
  expect(runner.stats().restarts).toBe(2);
});

test("fails an endless function at its limit after one run", async () => {
  const runner = createRunner({ function_timeout_ms: 2_000 });
  await runner.start();
  const results = await Promise.all(["a", "spin", "b", "c"].map((x) => runner.run(act, [x])));
  expect(results[1]?.errors?.y).toMatchObject({
    kind: "timeout",
    type: "TimeoutError",
    message: "ran longer than 2 s",
  });
  expect([results[0], results[2], results[3]]).toEqual([value("a"), value("b"), value("c")]);
  expect(notes().filter((note) => note.endsWith("spin"))).toHaveLength(1);
});

/** Columns that each call `functions:act` (or another function) with an input of their own. */
function rowOf(...names: string[]): UdfGraph {
  const type = { kind: "string" as const };
  const steps = names.map((name, at) => {
    const args: Expr[] = [{ node: "column", name: `x${at}`, type, nullable: true }];
    const id = `functions:${name}`;
    const expr: Expr = { node: "udf", function: id, args, kwargs: {}, type, nullable: true };
    return { name: `y${at}`, type, nullable: true, expr };
  });
  return {
    key: names.join(),
    inputs: names.map((_name, at) => ({ name: `x${at}`, type, nullable: true })),
    steps,
    functions: [...new Set(names)].map((name) => ({ id: `functions:${name}`, module: "functions", name })),
  };
}

test("names the function that ran when a row exceeds its limit", async () => {
  const runner = createRunner({ function_timeout_ms: 2_000 });
  const result = await runner.run(rowOf("upper", "act", "upper"), ["a", "spin", "b"]);
  expect(result.errors).toMatchObject({
    y0: { kind: "skipped" },
    y1: { kind: "timeout", function: "functions:act" },
    y2: { kind: "skipped" },
  });
  const second = await runner.run(rowOf("act", "act"), ["a", "spin"]);
  expect(second.errors).toMatchObject({ y0: { kind: "skipped" }, y1: { kind: "timeout", function: "functions:act" } });
});

test("names the function that ran when a row ends its process", async () => {
  const runner = createRunner({ function_timeout_ms: 5_000 });
  const result = await runner.run(rowOf("upper", "act"), ["a", "pause 0.1"]);
  expect(result.errors).toMatchObject({ y0: { kind: "skipped" }, y1: { kind: "died", function: "functions:act" } });
});

test("gives each computed column of a row the whole limit", async () => {
  const runner = createRunner({ function_timeout_ms: 2_000 });
  const row = ["sleep 0.8", "sleep 0.8", "sleep 0.8"];
  expect(await runner.run(rowOf("act", "act", "act"), row)).toEqual({ values: row, errors: null });
  expect(runner.stats().restarts).toBe(0);
});

test("does not fail many rows that exceed the limit only together", async () => {
  const runner = createRunner({ function_timeout_ms: 2_000 });
  const results = await Promise.all(Array.from({ length: 24 }, () => runner.run(act, ["sleep 0.1"])));
  expect(results).toEqual(results.map(() => value("sleep 0.1")));
  expect(runner.stats().restarts).toBe(0);
});

test("fails a function that leaks memory and replaces its worker", async () => {
  const runner = createRunner({ worker_memory_mb: 100 });
  const results = await Promise.all(["a", "grow", "b"].map((x) => runner.run(act, [x])));
  expect(results[1]?.errors?.y).toMatchObject({ kind: "memory", function: "functions:act", type: "MemoryError" });
  expect([results[0], results[2]]).toEqual([value("a"), value("b")]);
  expect(await runner.run(act, ["after"])).toEqual(value("after"));
});

/** Simulates a sandbox: a separate process before Python that reads Python's environment from descriptor 3. */
const LAUNCHER = `import os, subprocess, sys
words = open(3).read().split("\\0")
env = dict(zip(words[2::3], words[3::3]))
assert words[0] == "--clearenv" and "PIDS" in env and not {"PIDS", "PYTHONPATH"} & set(os.environ)
sys.exit(subprocess.call(sys.argv[1:], env=env))`;

test.each([
  ["", undefined],
  [", behind a launcher too", ["python3", "-c", LAUNCHER]],
])("detects memory outside Python's own limit%s", async (_where, launcher) => {
  const runner = createRunner({ worker_memory_mb: 100, ...(launcher === undefined ? {} : { launcher }) });
  const results = await Promise.all(["a", "share", "b"].map((x) => runner.run(act, [x])));
  expect(results[1]?.errors?.y).toMatchObject({ kind: "memory", message: "used more than 100 MB of memory" });
  expect([results[0], results[2]]).toEqual([value("a"), value("b")]);
  expect(notes().filter((note) => note.endsWith("share"))).toHaveLength(2);
});

test("handles many long texts concurrently", async () => {
  const runner = createRunner();
  const texts = Array.from({ length: 12 }, (_, i) => String(i).repeat(400_000));
  expect(await Promise.all(texts.map((x) => runner.run(graphOf("upper"), [x])))).toEqual(texts.map(value));
});

test("fails a function that requests too much memory at once", async () => {
  const runner = createRunner({ worker_memory_mb: 100 });
  const results = await Promise.all(["a", "gulp 4000000000", "b"].map((x) => runner.run(act, [x])));
  expect(results[1]?.errors?.y).toMatchObject({ kind: "memory", function: "functions:act", type: "MemoryError" });
  expect([results[0], results[2]]).toEqual([value("a"), value("b")]);
});

test("logs output of functions by lines and a flood in pieces", async () => {
  const runner = createRunner();
  expect(await runner.run(act, ["print me"])).toEqual(value("print me"));
  await eventually(() => expect(output).toEqual(expect.arrayContaining(["out of me", "err of me"])));
  expect(await runner.run(act, ["flood"])).toEqual(value("flood"));
  await eventually(() => expect(output.join("")).toHaveLength("out of meerr of me".length + 3_000_000));
});

test("a slow row does not delay later rows while a worker is free", async () => {
  const runner = createRunner({ workers: 2, function_timeout_ms: 60_000 });
  await runner.start();
  await Promise.all(Array.from({ length: 2_000 }, () => runner.run(act, ["quiet"])));
  const order: string[] = [];
  const free = join(folder, "others have ended");
  const slow = runner.run(act, [`hold ${free}`]).then((result) => {
    order.push("slow");
    return result;
  });
  await Promise.all(Array.from({ length: 500 }, () => runner.run(act, ["quiet"])));
  order.push("all others");
  writeFileSync(free, "");
  expect(await slow).toEqual(value(`hold ${free}`));
  expect(order).toEqual(["all others", "slow"]);
});

test("moves rows behind a slow one to a free worker", async () => {
  const runner = createRunner({ workers: 2, function_timeout_ms: 60_000 });
  await runner.start();
  await Promise.all(Array.from({ length: 3_000 }, () => runner.run(act, ["quiet"])));
  const free = join(folder, "others have moved");
  const rows = Array.from({ length: 60 }, (_, i) => (i === 3 ? `hold ${free}` : `quiet ${i}`));
  const pending = rows.map((x) => runner.run(act, [x]));
  await Promise.all(pending.filter((_, i) => i !== 3));
  writeFileSync(free, "");
  expect(await pending[3]).toEqual(value(`hold ${free}`));
});

test("answers every row once while workers are killed under load", async () => {
  const runner = createRunner({ workers: 2, worker_memory_mb: 400 });
  await runner.start();
  let isRunning = true;
  let answered = 0;
  let charged = 0;
  const callers = Array.from({ length: 32 }, async (_, caller) => {
    for (let n = 0; isRunning; n++) {
      const text = n % 50 === 0 ? `loud ${caller} ${n}` : `quiet ${caller} ${n}`;
      const result = await runner.run(act, [text]);
      // A row fails when its worker is killed again while the row runs alone.
      if (result.errors?.y?.kind === "died") charged += 1;
      else expect(result).toEqual(value(text));
      answered += 1;
    }
  });
  // on a busy machine some kills hit no process, and rows take long
  const isEnough = () => answered > 1_000 && runner.stats().restarts > 3;
  let kill = 0;
  for (; kill < 12 || !isEnough(); kill++) {
    await new Promise((resolve) => setTimeout(resolve, 150));
    try {
      process.kill(workerPid(), "SIGKILL");
    } catch (error) {
      // The worker that recorded itself last may have ended.
      expect((error as NodeJS.ErrnoException).code).toBe("ESRCH");
    }
  }
  isRunning = false;
  await Promise.all(callers);
  expect(runner.stats()).toMatchObject({ waiting: 0, running: 0, calls: answered });
  expect(charged * 2).toBeLessThanOrEqual(kill);
});

test("replaces a killed idle worker before the next row", async () => {
  const runner = createRunner();
  await runner.run(act, ["first"]);
  process.kill(workerPid(), "SIGKILL");
  await eventually(() => expect(runner.stats()).toMatchObject({ workers: 1, restarts: 1 }));
  expect(await runner.run(act, ["second"])).toEqual(value("second"));
});

test("reports an import failure at the start and for every row", async () => {
  const runner = createRunner({ modules: ["broken"] });
  const failure = { code: "worker_unavailable", message: expect.stringContaining("no_such_module_here") };
  await expect(runner.start()).rejects.toMatchObject(failure);
  await expect(runner.run(act, ["a"])).rejects.toMatchObject(failure);
  await expect(runner.run(act, ["a"])).rejects.toMatchObject({ message: expect.stringContaining("broken.py:2") });
});

test("reports a missing Python to callers", async () => {
  const runner = createRunner({ python: join(folder, "no-python") });
  await expect(runner.start()).rejects.toMatchObject({ code: "worker_unavailable" });
  await expect(runner.run(act, ["a"])).rejects.toBeInstanceOf(AppError);
});

test("a waiting row leaves the queue when its caller leaves", async () => {
  const runner = createRunner();
  await runner.start();
  const slow = runner.run(act, ["sleep 0.5"]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  const abort = new AbortController();
  const waiting = runner.run(act, ["never"], abort.signal);
  abort.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  await expect(runner.run(act, ["never"], abort.signal)).rejects.toThrow("gone");
  expect(runner.stats().waiting).toBe(0);
  expect(await slow).toEqual(value("sleep 0.5"));
  expect(notes().filter((note) => note.endsWith("never"))).toEqual([]);
});

test("refuses rows beyond the queue limit, and waiting rows succeed", async () => {
  const runner = createRunner({ max_waiting: 10 });
  const results = await Promise.allSettled(Array.from({ length: 15 }, (_, i) => runner.run(act, [`row ${i}`])));
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
  for (const result of results) {
    if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "overloaded" });
  }
});

test("closing answers every row and leaves no process behind", async () => {
  const runner = createRunner();
  await runner.run(act, ["child"]);
  const [worker, child] = [
    workerPid(),
    Number(
      notes()
        .find((note) => note.includes(" child "))
        ?.split(" ")
        .at(-1),
    ),
  ];
  const pending = ["sleep 0.2", "spin", "waits"].map((x) => runner.run(act, [x]));
  await new Promise((resolve) => setTimeout(resolve, 50));
  const settled = Promise.allSettled(pending);
  await runner[Symbol.asyncDispose]();
  for (const result of await settled) {
    if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "worker_unavailable" });
    else expect(result.value).toEqual(value("sleep 0.2"));
  }
  for (const pid of [worker, child]) await eventually(() => expect(isAlive(pid)).toBe(false));
  await expect(runner.run(act, ["late"])).rejects.toMatchObject({ code: "worker_unavailable" });
});

test("the worker sees only the application's environment", async () => {
  process.env.APPDB_TEST_SECRET = "secret";
  const runner = createRunner({ env: { OWN: "yes", PYTHONPATH: join(folder, "own-path") } });
  await runner.run(act, ["first"]);
  const environ = readFileSync(`/proc/${workerPid()}/environ`, "utf8").split("\0");
  delete process.env.APPDB_TEST_SECRET;
  expect(environ).toContain("OWN=yes");
  expect(environ.join("\n")).not.toContain("APPDB_TEST_SECRET");
  expect(environ.find((entry) => entry.startsWith("PYTHONPATH="))).toMatch(/^PYTHONPATH=.*python:.*own-path$/);
});

/** An unreaped zombie does not count as alive. */
function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}
