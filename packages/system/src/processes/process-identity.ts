import { THIS_SYSTEM } from "./systems/this-system.ts";

/**
 * Identity of a process. A pid alone is not enough because the system reuses it. `started` is opaque text that differs
 * for every process with that pid.
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly started: string;
}

/**
 * Identifies the current process with this pid. Undefined when it does not exist or is a zombie.
 * @throws daemon_failed when the process table is unreadable
 */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  const started = THIS_SYSTEM.processes.started(pid);
  return started === undefined ? undefined : { pid, started };
}

/**
 * Whether exactly this process still runs: the pid exists, is not a zombie, and has the recorded start.
 * @throws daemon_failed
 */
export function isProcessAlive(identity: ProcessIdentity): boolean {
  return identifyProcess(identity.pid)?.started === identity.started;
}

/**
 * Command line of a process as one text. Undefined when the process does not exist or is unreadable.
 * @throws daemon_failed
 */
export function commandLine(pid: number): string | undefined {
  return THIS_SYSTEM.processes.commandLine(pid);
}
