import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLinuxProcesses } from "./linux.ts";

/** Lines of /proc/<pid>/stat as Linux 6.1 writes them. The second field is a user-defined name. */
const STAT = {
  1: "1 (systemd) S 0 1 1 0 -1 4194560 18743 981203 91 722 105 218 3391 1501 20 0 1 0 12 172404736 3291 18446744073709551615 1 1 0 0 0 0 671173123 4096 1260 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0",
  812: "812 (my (odd) prog) R 1 812 700 34816 812 4194304 109 0 0 0 1 2 3 4 20 0 1 0 51872 8482816 901 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
  813: "813 (gone) Z 812 812 700 0 -1 4227084 0 0 0 0 0 0 0 0 20 0 1 0 51990 0 0 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
};
const BOOT = "0b4cf1a0-3a3e-4c9c-9f0f-4a1a9f0d7c11";

let proc: string;

beforeEach(() => {
  proc = mkdtempSync(join(tmpdir(), "appdb-proc-"));
  mkdirSync(join(proc, "sys", "kernel", "random"), { recursive: true });
  writeFileSync(join(proc, "sys", "kernel", "random", "boot_id"), `${BOOT}\n`);
  for (const [pid, stat] of Object.entries(STAT)) {
    mkdirSync(join(proc, pid));
    writeFileSync(join(proc, pid, "stat"), `${stat}\n`);
  }
  writeFileSync(join(proc, "812", "cmdline"), "/opt/my prog\0--home\0/srv/häuser\0");
});

afterEach(() => rmSync(proc, { recursive: true, force: true }));

test("identifies a process by boot and start time", () => {
  expect(createLinuxProcesses(proc).started(812)).toBe(`${BOOT}:51872`);
});

test("returns no start time for a zombie or a missing process", () => {
  const system = createLinuxProcesses(proc);
  expect([system.started(813), system.started(9999)]).toEqual([undefined, undefined]);
});

test("lists processes with parent, group and session, without zombies", () => {
  expect(createLinuxProcesses(proc).list()).toEqual([
    { pid: 1, parent: 0, group: 1, session: 1 },
    { pid: 812, parent: 1, group: 812, session: 700 },
  ]);
});

test("reads the command line as one text", () => {
  expect(createLinuxProcesses(proc).commandLine(812)).toBe("/opt/my prog --home /srv/häuser ");
});
