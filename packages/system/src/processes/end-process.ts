import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { isProcessAlive, type ProcessIdentity } from "./process-identity.ts";
import { type System, THIS_SYSTEM } from "./systems/this-system.ts";

const POLL_MS = 10;

/** A signal and the time to wait before the next one. */
export interface EndStep {
  readonly signal: NodeJS.Signals;
  readonly wait_ms: number;
}

/**
 * Ends a process with increasingly forceful signals. Each signal is sent only while the pid still belongs to that
 * process. `send` replaces the system's signals for programs with another protocol and returns whether the process
 * existed. Resolves to whether it is gone; a process in uninterruptible sleep may survive SIGKILL.
 */
export async function endProcess(
  identity: ProcessIdentity,
  steps: readonly EndStep[],
  send: (identity: ProcessIdentity, signal: NodeJS.Signals) => boolean = sendSignal,
): Promise<boolean> {
  for (const step of steps) {
    if (!send(identity, step.signal)) return true;
    if (await pollUntil(() => !isProcessAlive(identity), step.wait_ms)) return true;
  }
  return !isProcessAlive(identity);
}

/**
 * Ends a child process with increasingly forceful signals, like `endProcess`. Its handle knows whether it runs, so the
 * process table is not read. Where a signal would kill it, the first step closes its channel instead, on which our
 * programs end cleanly.
 */
export async function endChild(
  child: ChildProcess,
  steps: readonly EndStep[],
  system: Pick<System, "has_signals"> = THIS_SYSTEM,
): Promise<boolean> {
  for (const step of steps) {
    if (hasEnded(child)) return true;
    askToEnd(child, step.signal, system);
    if (await pollUntil(() => hasEnded(child), step.wait_ms)) return true;
  }
  return hasEnded(child);
}

/** Sends a signal to a child, or closes its channel where the child could not handle the signal. */
export function askToEnd(
  child: ChildProcess,
  signal: NodeJS.Signals,
  system: Pick<System, "has_signals"> = THIS_SYSTEM,
): void {
  if (!system.has_signals && signal !== "SIGKILL" && child.connected) child.disconnect();
  else child.kill(signal);
}

/** Sends a signal if the process still exists; otherwise returns false. */
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

async function pollUntil(look: () => boolean, waitMs: number): Promise<boolean> {
  const until = performance.now() + waitMs;
  while (performance.now() < until) {
    if (look()) return true;
    await sleep(POLL_MS);
  }
  return false;
}
