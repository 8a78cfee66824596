import { writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import type { Logger } from "@appdb/engine/ports";

/** Ten steps before an ordinary process: about ten times its part of a busy processor, and a short wait for a free one. */
export const RAISED_PRIORITY = -10;

/**
 * Has the system run a process before ordinary ones, as root may ask for. Linux shares processors between sessions first, and
 * between the processes of a session after that: the session of the process is raised too, so it must have one of its own.
 * Elsewhere, and without the right to it, the process runs as before.
 */
export function raisePriority(log: Logger, pid = process.pid): void {
  try {
    setPriority(pid, RAISED_PRIORITY);
    if (process.platform === "linux") writeFileSync(`/proc/${pid}/autogroup`, String(RAISED_PRIORITY));
  } catch (error) {
    log.debug({ err: error, pid }, "the process runs at its usual priority");
  }
}
