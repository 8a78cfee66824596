import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { FoundDaemon } from "../../context.ts";
import { CONFIG, type FakeContext, HEALTH, runCli } from "../../testing/fake-context.ts";

const HINT = "End it and start another: cli daemon restart";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "appdb-hung-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** A daemon that does not answer until it is ended. */
function hung(signal: NodeJS.Signals = "SIGKILL"): { given: FakeContext; ended: number[] } {
  const ended: number[] = [];
  const next = { pid: 4712, port: 40124, started_at: HEALTH.started_at, version: HEALTH.version };
  const daemon = {
    ensure: async () => ({}) as FoundDaemon["client"],
    find: async () => {
      if (ended.length > 0) return { file: next, client: {}, health: { ...HEALTH, pid: 4712 } } as FoundDaemon;
      throw appError("daemon_hung", {
        detail: "The daemon (process 4711) does not answer.",
        hint: HINT,
        meta: { pid: 4711 },
      });
    },
    waitUntilGone: async () => undefined,
    endHung: async (pid: number) => {
      ended.push(pid);
      return signal;
    },
  };
  return { given: { context: { daemon, config: { ...CONFIG, home } } }, ended };
}

test("stop ends a daemon that does not answer, and says that it was killed", async () => {
  const { ended, given } = hung();
  const ran = await runCli("daemon stop", given);
  expect(ran).toMatchObject({ exit: 0, stdout: "The daemon (process 4711) did not answer and was killed.\n" });
  expect(ended).toEqual([4711]);
  const ownEnd = await runCli("daemon stop --json", hung("SIGTERM").given);
  expect(JSON.parse(ownEnd.stdout)).toEqual({ stopped: true, pid: 4711, killed: false, postgres_pid: null });
});

test("restart ends a daemon that does not answer, and starts another", async () => {
  const { ended, given } = hung();
  const ran = await runCli("daemon restart", given);
  expect(ran.exit).toBe(0);
  expect(ran.stderr).toContain("The daemon (process 4711) did not answer and was killed.");
  expect(ran.stdout).toContain("The daemon runs: process 4712");
  expect(ended).toEqual([4711]);
});

test("health, status and other commands name a daemon that does not answer, and end nothing", async () => {
  const { ended, given } = hung();
  const health = await runCli("health", given);
  expect(health.exit).toBe(1);
  expect(health.stdout).toContain(
    `FAILED  daemon  The daemon (process 4711) does not answer.\n                ${HINT}\n`,
  );
  const status = await runCli("status", given);
  expect(status.exit).toBe(0);
  expect(status.stdout).toMatch(/^daemon {4}FAILED$/m);
  expect(status.stdout).toContain(`The daemon (process 4711) does not answer.\n${HINT}\n`);
  const daemonStatus = await runCli("daemon status", given);
  expect(daemonStatus).toMatchObject({ exit: 1, stderr: expect.stringContaining(`hint: ${HINT}`) });
  expect(ended).toEqual([]);
});

test("doctor says FAILED for what does not work and MISSING for what is not there", async () => {
  const node = { name: "node", ok: false, detail: "18.0.0", hint: "Install Node 20.19 or newer." };
  const daemon = { name: "daemon", ok: false, failed: true, detail: "It does not answer.", hint: HINT };
  const both = await runCli("doctor", { context: { doctor: async () => [node, daemon] } });
  expect(both.stdout).toContain("MISSING  node");
  expect(both.stdout).toContain("FAILED   daemon");
  expect(both.stdout).toContain("Something is missing;");
  const one = await runCli("doctor", { context: { doctor: async () => [daemon] } });
  expect(one).toMatchObject({ exit: 1, stdout: expect.stringContaining("Something does not work;") });
});
