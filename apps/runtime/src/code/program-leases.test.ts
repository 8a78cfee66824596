import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ManifestFunction, manifestSchema } from "@appdb/contract/manifest";
import { PROGRAM_LEASE_SECONDS } from "@appdb/contract/routes/programs";
import type { Runtime } from "@appdb/contract/runtime";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { moduleOf } from "./program-code.ts";
import { ProgramLeases } from "./program-leases.ts";
import { ProgramReturns } from "./program-returns.ts";

const RUNTIME: Runtime = { python: "python", python_source: "", project_root: "/", library_paths: [], env: {} };
const LIMITS = { programs: 20, program_modules: 10, program_functions: 50, program_bytes: 1_000 };
const content = (text: string) => Buffer.from(`appdb 3.11\n${text}`).toString("base64");
const [ONE, TWO] = [content("one"), content("two")];

function definition(module: string, id = `${module}:summarize`): ManifestFunction {
  return manifestSchema.shape.functions.element.parse({
    id,
    module,
    name: "summarize",
    parameters: [],
    result: { type: { kind: "string" }, nullable: false },
    digest: "",
    source: { file: "notebook", line: 1 },
  });
}

const sent = (modules: readonly string[], python = "3.11") => ({
  python,
  modules: [...modules],
  functions: modules.map((one) => definition(moduleOf(one))),
});

/** The folder does not show the name of the lease. */
const folderOf = ({ program }: { readonly program: string }) =>
  createHash("sha256").update(program).digest("hex").slice(0, 32);

let parent: string;
let folder: string;
let now: number;
let changes: number;
let needed: ReadonlySet<string>;
let leases: ProgramLeases;
let returns: ProgramReturns;

function open(): ProgramLeases {
  const clock = { now: () => now };
  const log = createSilentLog();
  returns = new ProgramReturns({ file: join(parent, "program-modules.json"), log });
  return new ProgramLeases({
    folder,
    returns,
    clock,
    limits: LIMITS,
    python: "3.11",
    neededByJobs: async () => needed,
    log,
    onChange: () => void changes++,
  });
}

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "appdb-leases-"));
  folder = join(parent, "programs");
  now = 0;
  changes = 0;
  needed = new Set();
  leases = open();
});
afterEach(() => {
  returns[Symbol.dispose]();
  leases[Symbol.dispose]();
  rmSync(parent, { recursive: true, force: true });
});

const pathsOf = async (module: string) => (await leases.code.extend(RUNTIME, [module])).library_paths;

test("a lease that is renewed keeps its functions, and another one ends", async () => {
  const [kept, lost] = [leases.store(sent([ONE]), null), leases.store(sent([TWO]), null)];
  expect(kept).toMatchObject({ lease_seconds: PROGRAM_LEASE_SECONDS });
  now += (PROGRAM_LEASE_SECONDS - 1) * 1_000;
  leases.renew(kept.program, sent([]), null);
  now += 2_000;
  expect(leases.find(`${moduleOf(ONE)}:summarize`)).toBeDefined();
  expect(leases.find(`${moduleOf(TWO)}:summarize`)).toBeUndefined();
  expect(await pathsOf(moduleOf(TWO))).toEqual([]);
  changes = 0;
  await leases.sweep();
  expect([readdirSync(folder), changes]).toEqual([[folderOf(kept)], 1]);
  expect(() => leases.renew(lost.program, sent([]), null)).toThrow(
    expect.objectContaining({ code: "program_not_found" }),
  );
});

test("stores more under a lease, and each content once", () => {
  const { program } = leases.store(sent([ONE]), null);
  leases.renew(program, sent([ONE, TWO]), null);
  const names = [ONE, TWO].flatMap((one) => [`${moduleOf(one)}.content`, `${moduleOf(one)}.py`]);
  expect(readdirSync(join(folder, folderOf({ program }))).sort()).toEqual(names.sort());
  expect(readFileSync(join(folder, folderOf({ program }), `${moduleOf(TWO)}.content`), "utf8")).toBe(TWO);
});

test("two programs keep the same function apart", async () => {
  const [first, second] = [leases.store(sent([ONE]), null), leases.store(sent([ONE]), null)];
  expect(await pathsOf(moduleOf(ONE))).toHaveLength(2);
  await leases.end(first.program);
  expect(await pathsOf(moduleOf(ONE))).toEqual([join(folder, folderOf(second))]);
  expect(leases.find(`${moduleOf(ONE)}:summarize`)).toBeDefined();
  await leases.end(second.program);
  await leases.end(second.program);
  expect(readdirSync(folder)).toEqual([]);
});

test("a job keeps functions of an ended lease, and queries do not find them", async () => {
  const { program } = leases.store(sent([ONE]), null);
  needed = new Set([moduleOf(ONE)]);
  await leases.end(program);
  expect(leases.find(`${moduleOf(ONE)}:summarize`)).toBeUndefined();
  expect(readdirSync(folder)).toEqual([folderOf({ program })]);
  needed = new Set();
  await leases.sweep();
  expect(readdirSync(folder)).toEqual([]);
});

test("remembers the project files of the last renewal", () => {
  const { program } = leases.store(sent([ONE]), "a".repeat(64));
  leases.renew(program, sent([]), "b".repeat(64));
  expect(leases.find(`${moduleOf(ONE)}:summarize`)?.files).toBe("b".repeat(64));
});

test("keeps nothing of an earlier process that was killed", () => {
  leases.store(sent([ONE]), null);
  using _killed = leases;
  leases = open();
  expect(readdirSync(folder)).toEqual([]);
});

function restart(): void {
  returns[Symbol.dispose]();
  leases[Symbol.dispose]();
  leases = open();
}

/** Whether work that calls a function still waits for it. */
async function waits(content: string): Promise<boolean> {
  const done = leases.returned([`${moduleOf(content)}:summarize`]).then(() => false);
  return await Promise.race([done, new Promise<true>((resolve) => setImmediate(resolve, true))]);
}

test("after a start, work waits for the function of a program that still runs", async () => {
  leases.store(sent([ONE]), null);
  restart();
  returns.begin();
  const runtime = leases.code.extend(RUNTIME, [moduleOf(ONE)]);
  expect([await waits(ONE), await waits(TWO)]).toEqual([true, false]);
  leases.store(sent([ONE]), null);
  expect((await runtime).library_paths).toHaveLength(1);
  expect(await waits(ONE)).toBe(false);
});

test("two starts in a row wait for the same programs", async () => {
  leases.store(sent([ONE]), null);
  leases.store(sent([TWO]), null);
  restart();
  leases.store(sent([ONE]), null);
  restart();
  expect([await waits(ONE), await waits(TWO)]).toEqual([true, true]);
});

test("work does not wait for programs that ended before the stop", async () => {
  const { program } = leases.store(sent([ONE]), null);
  leases.store(sent([TWO]), null);
  await leases.end(program);
  now += PROGRAM_LEASE_SECONDS * 1_000;
  await leases.sweep();
  restart();
  expect([await waits(ONE), await waits(TWO)]).toEqual([false, false]);
});

test("the wait for a program that does not return ends, and a stop ends it at once", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    leases.store(sent([ONE]), null);
    restart();
    returns.begin();
    const stopped = leases.returned([`${moduleOf(ONE)}:summarize`]);
    restart();
    await stopped;
    returns.begin();
    expect(await waits(ONE)).toBe(true);
    const waited = leases.returned([`${moduleOf(ONE)}:summarize`]);
    vi.advanceTimersByTime(PROGRAM_LEASE_SECONDS * 1_000);
    await waited;
    // the next start does not wait for it again
    restart();
    expect(await waits(ONE)).toBe(false);
  } finally {
    vi.useRealTimers();
  }
});

test("names that cannot be read delay no work", async () => {
  leases.store(sent([ONE]), null);
  writeFileSync(join(parent, "program-modules.json"), "[");
  restart();
  expect(await waits(ONE)).toBe(false);
});

test("deletes all content when the database stops", () => {
  const { program } = leases.store(sent([ONE, TWO]), null);
  expect(readdirSync(folder)).toHaveLength(1);
  leases[Symbol.dispose]();
  expect(readdirSync(folder)).toEqual([]);
  expect(() => leases.renew(program, sent([]), null)).toThrowError(
    expect.objectContaining({ code: "program_not_found" }),
  );
});

test("content of an ended lease counts until it is deleted from the disk", async () => {
  const large = sent([content("a".repeat(600))]);
  leases.store({ ...large, functions: [] }, null);
  now += PROGRAM_LEASE_SECONDS * 1_000 + 1;
  const other = { ...sent([content("b".repeat(600))]), functions: [] };
  expect(() => leases.store(other, null)).toThrowError(
    expect.objectContaining({ code: "program_quota", meta: expect.objectContaining({ limit: "program_bytes" }) }),
  );
  await leases.sweep();
  expect(readdirSync(folder)).toEqual([]);
  leases.store(other, null);
});

test("jobs keep the modules that they need of an ended lease, which count", async () => {
  const bare = (modules: string[]) => ({ python: "3.11", modules, functions: [] });
  const large = content("x".repeat(735));
  const lease = leases.store(bare([ONE, content("x".repeat(300))]), null);
  needed = new Set([moduleOf(ONE)]);
  await leases.end(lease.program);
  expect(readdirSync(join(folder, folderOf(lease))).sort()).toEqual(
    [".content", ".py"].map((extension) => `${moduleOf(ONE)}${extension}`),
  );
  changes = 0;
  await leases.sweep();
  expect(changes).toBe(0);
  const nine = Array.from({ length: 9 }, (_none, at) => content(`${at}`));
  expect(() => leases.store(bare([...nine, TWO]), null)).toThrowError(
    expect.objectContaining({
      code: "program_quota",
      meta: expect.objectContaining({ limit: "program_modules", used: 1 }),
    }),
  );
  expect(() => leases.store(bare([large]), null)).toThrowError(
    expect.objectContaining({ code: "program_quota", meta: expect.objectContaining({ used: ONE.length }) }),
  );
  needed = new Set();
  await leases.sweep();
  expect(readdirSync(folder)).toEqual([]);
  leases.store(bare([large]), null);
});

test("refuses another Python with both versions", () => {
  expect(() => leases.store(sent([ONE], "3.13"), null)).toThrow(
    expect.objectContaining({ code: "program_python", meta: { program: "3.13", database: "3.11" } }),
  );
  expect(existsSync(folder)).toBe(false);
});

test.each([
  ["a function of the project", definition("functions")],
  ["a function of another program's module", definition(moduleOf(TWO))],
  ["an id of another module", definition(moduleOf(ONE), "os:system")],
  ["a path as a module", definition("../../etc")],
])("refuses %s", (_, wrong) => {
  leases.store(sent([TWO]), null);
  expect(() => leases.store({ ...sent([ONE]), functions: [wrong] }, null)).toThrow(
    expect.objectContaining({ code: "invalid_request" }),
  );
  expect(leases.find(wrong.id) === undefined || wrong.module === moduleOf(TWO)).toBe(true);
});

test.each(["", "..", "../other", "/etc", "a/b", "f".repeat(32)])("does not know the lease %j", async (program) => {
  expect(() => leases.renew(program, sent([ONE]), null)).toThrow(
    expect.objectContaining({ code: "program_not_found" }),
  );
  await leases.end(program);
  expect(readdirSync(parent)).toEqual([]);
});

test("ten thousand leases stop at the limit of the database", () => {
  const refused = Array.from({ length: 10_000 }, () => {
    try {
      leases.store(sent([]), null);
      return 0;
    } catch (error) {
      expect(error).toMatchObject({
        code: "program_quota",
        meta: { limit: "programs", used: LIMITS.programs },
      });
      return 1;
    }
  }).filter(Boolean).length;
  expect(refused).toBe(10_000 - LIMITS.programs);
  now += PROGRAM_LEASE_SECONDS * 1_000;
  expect(leases.store(sent([]), null).program).toMatch(/^[0-9a-f]{32}$/);
});

test("functions of all leases have limits, and one that is sent again counts once", () => {
  const { program } = leases.store(sent([ONE]), null);
  leases.renew(program, sent([ONE]), null);
  const module = moduleOf(ONE);
  const many = Array.from({ length: LIMITS.program_functions }, (_, at) => definition(module, `${module}:f${at}`));
  expect(() => leases.renew(program, { ...sent([]), functions: many }, null)).toThrow(
    expect.objectContaining({
      code: "program_quota",
      meta: { limit: "program_functions", value: LIMITS.program_functions, used: 1, more: many.length },
    }),
  );
});

test("modules and bytes of all leases have limits", () => {
  const big = "A".repeat(LIMITS.program_bytes / 2);
  leases.store({ ...sent([]), modules: [big] }, null);
  const { program } = leases.store(sent([]), null);
  expect(() => leases.renew(program, { ...sent([]), modules: [`${big}AAAA`] }, null)).toThrow(
    expect.objectContaining({ code: "program_quota", meta: expect.objectContaining({ limit: "program_bytes" }) }),
  );
  const many = Array.from({ length: LIMITS.program_modules }, (_, at) => content(String(at)));
  expect(() => leases.renew(program, { ...sent([]), modules: many }, null)).toThrow(
    expect.objectContaining({ code: "program_quota", meta: expect.objectContaining({ limit: "program_modules" }) }),
  );
});
