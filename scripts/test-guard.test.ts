import { execFileSync, spawn } from "node:child_process";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "@appdb/testkit/eventually";
import { expect, test } from "vitest";

/** It reads every process of the machine several times, which is slow on a busy one. */
const PATIENCE = { timeout_ms: 25_000 };
const GUARD = fileURLToPath(new URL("./lib/test-guard.mjs", import.meta.url));

test("a killed test run leaves no process and no file behind", async () => {
  const { folder, sleeper, writer, guard } = startRun();
  guard.stdin.write(`${folder}\n`);
  guard.stdin.end();
  await eventually(() => {
    expect(existsSync(folder)).toBe(false);
    expect([sleeper.signalCode, writer.signalCode]).toEqual(["SIGKILL", "SIGKILL"]);
    expect(guard.exitCode).toBe(0);
  }, PATIENCE);
});

test("ignores a test run that has ended", async () => {
  const { folder, sleeper, writer, guard } = startRun();
  try {
    guard.stdin.end(`${folder}\nended\n`);
    await eventually(() => expect(guard.exitCode).toBe(0), PATIENCE);
    expect(existsSync(folder)).toBe(true);
    expect([sleeper.signalCode, writer.signalCode]).toEqual([null, null]);
  } finally {
    for (const child of [sleeper, writer]) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
});

test.skipIf(!mayMount())("removes nested mounts, also with spaces and non-ASCII letters", async () => {
  const { folder, guard } = startRun();
  for (const mount of [join(folder, "t"), join(folder, "t", "home \u00e9 \u00fc")]) {
    mkdirSync(mount);
    execFileSync("mount", ["-t", "tmpfs", "tmpfs", mount]);
  }
  guard.stdin.end(`${folder}\n`);
  await eventually(() => expect(guard.exitCode).toBe(0), PATIENCE);
  expect(existsSync(folder)).toBe(false);
});

function mayMount() {
  const folder = mkdtempSync(join(tmpdir(), "appdb-guard-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "tmpfs", folder], { stdio: "ignore" });
    execFileSync("umount", [folder]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A folder with a file, processes that name it like tests or write into it like pods, and a waiting guard. */
function startRun() {
  const folder = mkdtempSync(join(tmpdir(), "appdb-guard-"));
  writeFileSync(join(folder, "row"), "1");
  const script = "setInterval(() => {}, 1000)";
  const sleeper = spawn(process.execPath, ["-e", script], { env: { TMPDIR: folder }, stdio: "ignore" });
  const output = openSync(join(folder, "output"), "w");
  const writer = spawn(process.execPath, ["-e", script], { env: {}, stdio: ["ignore", output, output] });
  closeSync(output);
  const guard = spawn(process.execPath, [GUARD], { stdio: ["pipe", "ignore", "inherit"] });
  return { folder, sleeper, writer, guard };
}
