import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { sendSignal } from "./end-process.ts";
import { identifyProcess, type ProcessIdentity } from "./process-identity.ts";
import type { ProcessEntry } from "./systems/process-system.ts";
import { THIS_SYSTEM } from "./systems/this-system.ts";

const POLL_MS = 10;
/** Unit of times in /proc, independent of the kernel's clock rate. */
const TICKS_PER_S = 100;

/** All processes except zombies. */
export function readProcesses(): ProcessEntry[] {
  return THIS_SYSTEM.processes.list();
}

/**
 * The given processes and their descendants, including members of sessions that they lead. `marker` is a unique
 * `NAME=value` of their environment. Where the system shows environments (Linux), it also finds detached processes,
 * unless they replaced their environment.
 */
export function findFamily(roots: readonly number[], marker?: string, table = readProcesses()): ProcessEntry[] {
  const members = new Set(roots);
  if (marker !== undefined) for (const { pid } of table) if (hasMarker(pid, marker)) members.add(pid);
  members.delete(process.pid);
  for (let before = -1; before !== members.size; ) {
    before = members.size;
    for (const { pid, parent, session } of table) {
      if (pid !== process.pid && (members.has(parent) || members.has(session))) members.add(pid);
    }
  }
  return table.filter(({ pid }) => members.has(pid));
}

/**
 * Kills the processes that `find` returns until it returns none, because some may start others meanwhile. Resolves to
 * whether none is left; processes in uninterruptible sleep may outlive `wait_ms`.
 */
export async function killAll(find: () => readonly ProcessEntry[], waitMs: number): Promise<boolean> {
  const until = performance.now() + waitMs;
  for (;;) {
    const found = find().flatMap(({ pid }) => identifyProcess(pid) ?? []);
    if (found.length === 0) return true;
    for (const identity of found) kill(identity);
    if (performance.now() > until) return false;
    await sleep(POLL_MS);
  }
}

/**
 * Memory of processes in bytes, with shared memory counted once (PSS). Undefined where the system does not report it.
 * Reading takes about a millisecond per 100 MB.
 */
export function proportionalMemory(pids: readonly number[]): number | undefined {
  let kilobytes: number | undefined;
  for (const pid of pids) {
    const found = /^Pss:\s*(\d+) kB/m.exec(readProc(`/proc/${pid}/smaps_rollup`) ?? "")?.[1];
    if (found !== undefined) kilobytes = (kilobytes ?? 0) + Number(found);
  }
  return kilobytes === undefined ? undefined : kilobytes * 1024;
}

/**
 * Processor time in milliseconds of a process and its descendants, including ended ones that were waited for. Undefined
 * where the system does not report it.
 */
export function familyCpuMs(root: number): number | undefined {
  if (process.platform !== "linux") return undefined;
  const table = readProcesses();
  const members = new Set([root]);
  for (let before = -1; before !== members.size; ) {
    before = members.size;
    for (const { pid, parent } of table) if (members.has(parent)) members.add(pid);
  }
  let ticks = 0;
  for (const pid of members) {
    const stat = readProc(`/proc/${pid}/stat`);
    // after the name: state, ten other numbers, then user and system time of the process and of its reaped children
    const times =
      stat
        ?.slice(stat.lastIndexOf(")") + 2)
        .split(" ")
        .slice(11, 15) ?? [];
    for (const time of times) ticks += Number(time);
  }
  return (ticks * 1_000) / TICKS_PER_S;
}

function kill(identity: ProcessIdentity): void {
  try {
    sendSignal(identity, "SIGKILL");
  } catch (error) {
    // it changed to another user that we may not signal; it still counts as left
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
}

function hasMarker(pid: number, marker: string): boolean {
  const environment = readProc(`/proc/${pid}/environ`);
  return environment?.split("\0").includes(marker) ?? false;
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // ended between the reads, or another user's: both mean unknown
    return undefined;
  }
}
