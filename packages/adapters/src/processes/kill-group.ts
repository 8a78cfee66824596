import type { ChildProcess } from "node:child_process";

/** Whether a child can have a process group of its own (`detached`), which ends as a whole. */
export const HAS_GROUPS = process.platform !== "win32";

/** Ends a child that was started `detached`, and whatever it left in its process group, at once. Safe to repeat. */
export function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  if (!HAS_GROUPS) {
    child.kill("SIGKILL");
    return;
  }
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    // ESRCH: the group has no process left, which is what was asked for.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
