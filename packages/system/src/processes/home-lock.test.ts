import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleScript } from "@appdb/testkit/built-programs";
import { afterEach, beforeEach, expect, test } from "vitest";
import { acquireHomeLock } from "./home-lock.ts";
import { identifyProcess } from "./process-identity.ts";

let folder: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-lock-ü "));
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

/** A process that tries to lock the home, prints the result, and lives until it is killed. */
async function contend(): Promise<string> {
  const module = await bundleScript(join(import.meta.dirname, "home-lock.ts"));
  const script = `const { acquireHomeLock } = await import(${JSON.stringify(module)});
    process.stdout.write(acquireHomeLock(${JSON.stringify(folder)}).outcome);
    setInterval(() => {}, 1000);`;
  const args = ["--input-type=module", "-e", script];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  const [chunk] = await once(child.stdout, "data");
  return String(chunk);
}

async function killAll(): Promise<void> {
  await Promise.all(
    children.splice(0).map(async (child) => {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    }),
  );
}

test("exactly one of many contenders locks a home, also after a kill", {
  timeout: 60_000,
}, async () => {
  for (let round = 0; round < 3; round++) {
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => contend()));
    expect(outcomes.filter((outcome) => outcome === "acquired")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "taken")).toHaveLength(5);
    await killAll();
  }
  expect(readdirSync(folder)).toHaveLength(1);
});

test("a home stays locked while its owner lives and names the owner", () => {
  expect(acquireHomeLock(folder)).toEqual({ outcome: "acquired" });
  expect(acquireHomeLock(folder)).toEqual({ outcome: "taken", owner: identifyProcess(process.pid) });
});

test("ignores stale, incomplete and empty locks", () => {
  for (const text of [JSON.stringify({ pid: process.pid, started: "earlier" }), '{"pid": 1', ""]) {
    const next = Math.max(0, ...readdirSync(folder).map((name) => Number(name.split(".")[1]))) + 1;
    writeFileSync(join(folder, `daemon.${next}`), text);
    expect(acquireHomeLock(folder)).toEqual({ outcome: "acquired" });
    expect(readdirSync(folder)).toEqual([`daemon.${next + 1}`]);
  }
});
