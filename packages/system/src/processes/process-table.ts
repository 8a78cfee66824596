import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { sendSignal } from "./end-process.ts";
import { identifyProcess, type ProcessIdentity } from "./process-identity.ts";
import type { ProcessEntry } from "./systems/process-system.ts";
import { THIS_SYSTEM } from "./systems/this-system.ts";

const POLL_MS = 10;
/** What Linux shows times in, whatever its own clock does. */
const TICKS_PER_S = 100;

/** Every process but zombies. */
export function readProcesses(): ProcessEntry[] {
  return THIS_SYSTEM.processes.list();
}

/**
 * The given processes with all that come from them: children, their children, and whoever is in a session that one of these
 * leads. `marker` is `NAME=value` of an environment that nobody else was given; where the system shows environments (Linux)
 * it also finds those that left the family, but not who threw its environment away as well.
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
 * Kills whatever `find` finds, again and again, until it finds nothing: some may be making others meanwhile. Resolves to
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
 * Memory of processes in bytes, what they share counted once (PSS); undefined where the system does not say.
 * Reading it takes about a millisecond for a process of 100 MB.
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
 * Milliseconds of processors that a process has used with all that come from it, those that have ended included: whoever waits for a
 * process takes over what it used. Undefined where the system does not say.
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
    // after the name: state, ten other numbers, then user and system time, its own and of those it waited for
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
    // it has become another user's, whom the system protects from us; it is still counted as left
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
    // gone between two looks, or another user's: an answer either way
    return undefined;
  }
}
