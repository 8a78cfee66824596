import { THIS_SYSTEM } from "./systems/this-system.ts";

/**
 * A process that can be recognised later: a pid alone cannot, because the system gives it out again.
 * `started` is opaque text that no other process of that pid has.
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly started: string;
}

/**
 * Tells which process has this pid now; undefined when there is none, or only a zombie that nobody has reaped.
 * @throws daemon_failed when the system does not say which processes run
 */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  const started = THIS_SYSTEM.processes.started(pid);
  return started === undefined ? undefined : { pid, started };
}

/** True while exactly this process runs: the pid is there, is no zombie, and was started when we said. @throws daemon_failed */
export function isProcessAlive(identity: ProcessIdentity): boolean {
  return identifyProcess(identity.pid)?.started === identity.started;
}

/** The command line of a process as one text, undefined when there is no such process or it may not be read. @throws daemon_failed */
export function commandLine(pid: number): string | undefined {
  return THIS_SYSTEM.processes.commandLine(pid);
}
