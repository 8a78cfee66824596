import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programModule } from "@appdb/contract/program-code";
import type { Runtime } from "@appdb/contract/runtime";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ProgramCode } from "./program-code.ts";
import { isProcessOwnerAlive, storeProgram } from "./program-processes.ts";

const RUNTIME: Runtime = {
  python: "python",
  python_source: "test",
  project_root: "/project",
  library_paths: ["/library"],
  env: {},
};
const CONTENT = Buffer.from("appdb 3.11\nbytes").toString("base64");
const MODULE = programModule(createHash("sha256").update(Buffer.from(CONTENT, "base64")).digest("hex"));

let folder: string;
let programs: ProgramCode;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-programs-"));
  programs = new ProgramCode(join(folder, "programs"), isProcessOwnerAlive);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const nothing = async () => new Set<string>();
const foldersOf = (runtime: Runtime) => runtime.library_paths.slice(1);

async function withProgram(work: (program: ChildProcess & { readonly pid: number }) => Promise<void>): Promise<void> {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  try {
    await work(child as ChildProcess & { readonly pid: number });
  } finally {
    await end(child);
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

test("stores content under a name of its own and never reads it", async () => {
  await withProgram(async ({ pid }) => {
    storeProgram(programs, { pid, modules: [CONTENT] });
    const [place = ""] = foldersOf(await programs.extend(RUNTIME, ["app", MODULE]));
    expect(readdirSync(place).sort()).toEqual([`${MODULE}.content`, `${MODULE}.py`]);
    expect(readFileSync(join(place, `${MODULE}.content`), "utf8")).toBe(CONTENT);
    expect(statSync(place).mode & 0o777).toBe(0o700);
    expect(statSync(join(place, `${MODULE}.py`)).mode & 0o777).toBe(0o600);
  });
});

test("leaves workers without such functions alone", async () => {
  await withProgram(async ({ pid }) => {
    storeProgram(programs, { pid, modules: [CONTENT] });
    expect(await programs.extend(RUNTIME, ["app"])).toBe(RUNTIME);
    expect(foldersOf(await programs.extend(RUNTIME, [programModule("0".repeat(64))]))).toEqual([]);
  });
});

test("deletes the code of an ended program and keeps that of others", async () => {
  await withProgram(async (first) => {
    await withProgram(async (second) => {
      storeProgram(programs, { pid: first.pid, modules: [CONTENT] });
      storeProgram(programs, { pid: second.pid, modules: [CONTENT] });
      expect(await programs.sweep(nothing)).toBe(false);
      const both = foldersOf(await programs.extend(RUNTIME, [MODULE]));
      expect(both).toHaveLength(2);
      await end(first);
      const [left = ""] = foldersOf(await programs.extend(RUNTIME, [MODULE]));
      expect(await programs.sweep(nothing)).toBe(true);
      expect(both.filter((one) => existsSync(one))).toEqual([left]);
      await end(second);
      expect(await programs.sweep(nothing)).toBe(true);
      expect(foldersOf(await programs.extend(RUNTIME, [MODULE]))).toEqual([]);
    });
  });
});

test("a job keeps the code of an ended program, which other work does not get", async () => {
  await withProgram(async (program) => {
    storeProgram(programs, { pid: program.pid, modules: [CONTENT] });
    await end(program);
  });
  expect(await programs.sweep(async () => new Set([MODULE]))).toBe(false);
  expect(foldersOf(await programs.extend(RUNTIME, [MODULE]))).toEqual([]);
  expect(foldersOf(await programs.extend(RUNTIME, [MODULE], { for_job: true }))).toHaveLength(1);
  expect(await programs.sweep(nothing)).toBe(true);
  expect(foldersOf(await programs.extend(RUNTIME, [MODULE], { for_job: true }))).toEqual([]);
});

test("refuses a process that does not run", async () => {
  let ended = 0;
  await withProgram(async ({ pid }) => {
    ended = pid;
  });
  expect(() => storeProgram(programs, { pid: ended, modules: [CONTENT] })).toThrow(
    /does not run on the machine of the daemon/,
  );
  expect(existsSync(join(folder, "programs"))).toBe(false);
});
