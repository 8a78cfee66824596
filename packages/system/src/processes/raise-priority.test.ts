import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { getPriority } from "node:os";
import { createSilentLog } from "@appdb/testkit/silent-log";
import { expect, test } from "vitest";
import { RAISED_PRIORITY, raisePriority } from "./raise-priority.ts";

const isRoot = process.getuid?.() === 0;

test.skipIf(!isRoot)("root raises a process and its session", async () => {
  const log = createSilentLog();
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { detached: true, stdio: "ignore" });
  try {
    await once(child, "spawn");
    const pid = child.pid ?? 0;
    raisePriority(log, pid);
    expect(getPriority(pid)).toBe(RAISED_PRIORITY);
    const session = `/proc/${pid}/autogroup`;
    if (existsSync(session)) expect(readFileSync(session, "utf8")).toContain(`nice ${RAISED_PRIORITY}`);
  } finally {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  // a kernel without session groups lacks the file, which is logged
  expect(log.lines.length).toBeLessThanOrEqual(1);
});

test("a process that cannot be raised keeps running and logs it", () => {
  const log = createSilentLog();
  raisePriority(log, 2 ** 22 + 1);
  expect(log.lines).toMatchObject([{ level: "debug", message: "the process runs with normal priority" }]);
});
