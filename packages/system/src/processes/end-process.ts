import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { isProcessAlive, type ProcessIdentity } from "./process-identity.ts";
import { type System, THIS_SYSTEM } from "./systems/this-system.ts";

const POLL_MS = 10;

/** One signal and how long it is given before the next one. */
export interface EndStep {
  readonly signal: NodeJS.Signals;
  readonly wait_ms: number;
}

/**
 * Ends one process with ever harder signals. Each signal goes out only while the pid still is that very process. `send` is for
 * programs with another way than the system's to be asked, and says whether the process was there.
 * Resolves to whether it is gone; a process in uninterruptible sleep may outlive SIGKILL.
 */
export async function endProcess(
  identity: ProcessIdentity,
  steps: readonly EndStep[],
  send: (identity: ProcessIdentity, signal: NodeJS.Signals) => boolean = sendSignal,
): Promise<boolean> {
  for (const step of steps) {
    if (!send(identity, step.signal)) return true;
    if (await becomesTrue(() => !isProcessAlive(identity), step.wait_ms)) return true;
  }
  return !isProcessAlive(identity);
}

/**
 * Ends a child of this process with ever harder signals, as `endProcess` does. Its handle says exactly whether it runs, so the
 * system is not asked. Where a signal would end it at once, the first step closes its channel: our programs end in order then.
 */
export async function endChild(
  child: ChildProcess,
  steps: readonly EndStep[],
  system: Pick<System, "has_signals"> = THIS_SYSTEM,
): Promise<boolean> {
  for (const step of steps) {
    if (hasEnded(child)) return true;
    askToEnd(child, step.signal, system);
    if (await becomesTrue(() => hasEnded(child), step.wait_ms)) return true;
  }
  return hasEnded(child);
}

/** Sends a child a signal; for one that it could not handle, closes the channel to it in place of that. */
export function askToEnd(
  child: ChildProcess,
  signal: NodeJS.Signals,
  system: Pick<System, "has_signals"> = THIS_SYSTEM,
): void {
  if (!system.has_signals && signal !== "SIGKILL" && child.connected) child.disconnect();
  else child.kill(signal);
}

/** Sends a signal if the process is still there; false when it is not. */
export function sendSignal(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isProcessAlive(identity)) return false;
  try {
    process.kill(identity.pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
}

async function becomesTrue(look: () => boolean, waitMs: number): Promise<boolean> {
  const until = performance.now() + waitMs;
  while (performance.now() < until) {
    if (look()) return true;
    await sleep(POLL_MS);
  }
  return false;
}
