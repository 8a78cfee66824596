import { setTimeout as sleep } from "node:timers/promises";
import { isAlive, type ProcessIdentity } from "./process-identity.ts";

const POLL_MS = 10;

/** One signal and how long it is given before the next one. */
export interface EndStep {
  readonly signal: NodeJS.Signals;
  readonly wait_ms: number;
}

/**
 * Ends one process with ever harder signals. Each signal goes out only while the pid still is that very process.
 * Resolves to whether it is gone; a process in uninterruptible sleep may outlive SIGKILL.
 */
export async function endProcess(identity: ProcessIdentity, steps: readonly EndStep[]): Promise<boolean> {
  for (const step of steps) {
    if (!sendSignal(identity, step.signal)) return true;
    const until = performance.now() + step.wait_ms;
    while (performance.now() < until) {
      if (!isAlive(identity)) return true;
      await sleep(POLL_MS);
    }
  }
  return !isAlive(identity);
}

/** Sends a signal if the process is still there; false when it is not. */
export function sendSignal(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isAlive(identity)) return false;
  try {
    process.kill(identity.pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}
