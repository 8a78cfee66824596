import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { endChild } from "./end-process.ts";

const STEPS = [
  { signal: "SIGTERM", wait_ms: 10_000 },
  { signal: "SIGKILL", wait_ms: 10_000 },
] as const;
/** Its exit status shows how it was asked to end. */
const ORDERLY = `process.on("SIGTERM", () => process.exit(7)); process.on("disconnect", () => process.exit(9)); process.send("up");`;
const DEAF = `process.on("SIGTERM", () => {}); process.on("disconnect", () => {}); setInterval(() => {}, 1000); process.send("up");`;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "appdb-end-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function start(program: string) {
  const file = join(folder, "program.mjs");
  writeFileSync(file, program);
  const child = fork(file, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  await once(child, "message");
  return child;
}

test.skipIf(process.platform === "win32")("asks a child by a signal", async () => {
  const child = await start(ORDERLY);
  expect(await endChild(child, STEPS, { has_signals: true })).toBe(true);
  expect(child.exitCode).toBe(7);
});

test("asks a child by its channel where signals are missing", async () => {
  const child = await start(ORDERLY);
  expect(await endChild(child, STEPS, { has_signals: false })).toBe(true);
  expect(child.exitCode).toBe(9);
});

/** On Windows, any signal kills. */
const WAYS = process.platform === "win32" ? [false] : [true, false];

test.each(WAYS)("kills a child that does not react (signals: %s)", async (hasSignals) => {
  const child = await start(DEAF);
  const [asking, killing] = STEPS;
  expect(await endChild(child, [{ ...asking, wait_ms: 200 }, killing], { has_signals: hasSignals })).toBe(true);
  expect(child.signalCode).toBe("SIGKILL");
});
