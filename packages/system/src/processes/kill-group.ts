import { type ChildProcess, spawnSync } from "node:child_process";
import { THIS_SYSTEM } from "./systems/this-system.ts";
import { windowsProgram } from "./systems/windows.ts";

/** Whether a child can have its own process group (`detached`), which ends as a whole. */
export const HAS_GROUPS = THIS_SYSTEM.has_groups;

const TASKKILL_TIMEOUT_MS = 5_000;

/** Kills a child started `detached` and the rest of its process group. Safe to repeat. */
export function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  if (!HAS_GROUPS) {
    killTree(child, child.pid);
    return;
  }
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    // ESRCH: the group has no processes left, which is the goal.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Windows knows a process's children only while it runs. Children of an ended process cannot be found. */
function killTree(child: ChildProcess, pid: number): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const options = { stdio: "ignore", timeout: TASKKILL_TIMEOUT_MS, windowsHide: true } as const;
  spawnSync(windowsProgram("taskkill.exe"), ["/PID", String(pid), "/T", "/F"], options);
  // does nothing when the process has ended
  child.kill("SIGKILL");
}
