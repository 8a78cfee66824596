import { type ChildProcess, spawnSync } from "node:child_process";
import { THIS_SYSTEM } from "./systems/this-system.ts";
import { windowsProgram } from "./systems/windows.ts";

/** Whether a child can have a process group of its own (`detached`), which ends as a whole. */
export const HAS_GROUPS = THIS_SYSTEM.has_groups;

const TASKKILL_TIMEOUT_MS = 5_000;

/** Ends a child that was started `detached`, and whatever it left in its process group, at once. Safe to repeat. */
export function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  if (!HAS_GROUPS) {
    killTree(child, child.pid);
    return;
  }
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    // ESRCH: the group has no process left, which is what was asked for.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Windows knows whom a process started only while that process runs: what an ended one left cannot be found any more. */
function killTree(child: ChildProcess, pid: number): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const options = { stdio: "ignore", timeout: TASKKILL_TIMEOUT_MS, windowsHide: true } as const;
  spawnSync(windowsProgram("taskkill.exe"), ["/PID", String(pid), "/T", "/F"], options);
  // nothing where that has ended it
  child.kill("SIGKILL");
}
