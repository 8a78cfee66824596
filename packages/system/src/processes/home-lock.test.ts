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

/** A process that tries to take the home and says how it went; it lives on until it is killed. */
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

test("of many that take a home at once exactly one has it, also after the owner was killed", {
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

test("a home is taken while its owner lives, and says who it is", () => {
  expect(acquireHomeLock(folder)).toEqual({ outcome: "acquired" });
  expect(acquireHomeLock(folder)).toEqual({ outcome: "taken", owner: identifyProcess(process.pid) });
});

test("a lock of another start of the same pid, a torn one and an empty one belong to nobody", () => {
  for (const text of [JSON.stringify({ pid: process.pid, started: "earlier" }), '{"pid": 1', ""]) {
    const next = Math.max(0, ...readdirSync(folder).map((name) => Number(name.split(".")[1]))) + 1;
    writeFileSync(join(folder, `daemon.${next}`), text);
    expect(acquireHomeLock(folder)).toEqual({ outcome: "acquired" });
    expect(readdirSync(folder)).toEqual([`daemon.${next + 1}`]);
  }
});
