import { writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import type { Logger } from "@appdb/engine/ports";

/**
 * Nice value ten steps above normal: about ten times the share of a busy processor, and a short wait for a free one.
 */
export const RAISED_PRIORITY = -10;

/**
 * Raises the priority of a process, which requires root. Linux shares processors first between sessions and then
 * between a session's processes. The session is raised too, so the process must have its own. On other systems or
 * without the right, nothing changes.
 */
export function raisePriority(log: Logger, pid = process.pid): void {
  try {
    setPriority(pid, RAISED_PRIORITY);
    if (process.platform === "linux") writeFileSync(`/proc/${pid}/autogroup`, String(RAISED_PRIORITY));
  } catch (error) {
    log.debug({ err: error, process: pid }, "the process runs with normal priority");
  }
}
