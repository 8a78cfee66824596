import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { getPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { findLockOwner } from "@appdb/system/processes/numbered-lock";
import { builtProgram } from "@appdb/testkit/built-programs";
import { expect, test } from "vitest";
import * as z from "zod";

const KEEPER = fileURLToPath(new URL("../../../deploy/keep-server.sh", import.meta.url));
const running = z.object({ url: z.string(), pid: z.int() });

test("a hanging server is replaced, and so is its dead gateway", async () => {
  const home = mkdtempSync(join(tmpdir(), "appdb-keep-"));
  const keeper = spawn("/bin/sh", [KEEPER, "0", process.execPath, builtProgram("server")], {
    env: { ...process.env, SERVICE_HOME: home, SERVICE_PODS: "process", KEEPER_SILENT_SECONDS: "3" },
    stdio: "ignore",
  });
  const ended = once(keeper, "exit");
  const read = () => running.parse(JSON.parse(readFileSync(join(home, "server.json"), "utf8")));
  const status = async (url: string) => (await fetch(`${url}/health`)).status;
  const gateway = () => findLockOwner(join(home, "server", "locks"), "gateway.")?.pid ?? 0;
  const lives = async (other: number) => {
    await expect.poll(() => read().pid, { timeout: 30_000 }).not.toBe(other);
    await expect.poll(() => status(read().url)).toBe(200);
    return read().pid;
  };
  try {
    const first = await lives(0);
    const served = gateway();
    // a pod that uses all CPUs does not delay requests
    if (process.getuid?.() === 0) expect(getPriority(served)).toBeLessThan(getPriority(first));
    process.kill(first, "SIGSTOP");
    const second = await lives(first);
    expect(gateway()).toBe(served);
    // no other gateway is started while the server hangs
    process.kill(second, "SIGSTOP");
    process.kill(served, "SIGKILL");
    await lives(second);
    expect(gateway()).not.toBe(served);
  } finally {
    keeper.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
    await removeFolder(home);
  }
}, 120_000);

/** Runs a program in a terminal that ends, as a dropped connection does, once the program has printed a text. */
const LOST_TERMINAL = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
printed = b""
while sys.argv[1].encode() not in printed:
    printed += os.read(terminal, 65536)
`;

test("a server whose terminal is lost stops, and leaves nothing running", async () => {
  const home = mkdtempSync(join(tmpdir(), "appdb-keep-"));
  const keeper = ["/bin/sh", KEEPER, "0", process.execPath, builtProgram("server")];
  const terminal = spawn("python3", ["-c", LOST_TERMINAL, '"the server listens"', ...keeper], {
    env: { ...process.env, SERVICE_HOME: home, SERVICE_PODS: "process" },
    stdio: "ignore",
  });
  const locks = join(home, "server", "locks");
  expect(await once(terminal, "exit")).toEqual([0, null]);
  for (const role of ["role-control-plane.", "gateway."]) {
    await expect.poll(() => findLockOwner(locks, role), { timeout: 40_000 }).toBeUndefined();
  }
  expect(readdirSync(join(home, "server", "postgres", "18"))).not.toContain("postmaster.pid");
  await removeFolder(home);
}, 120_000);
