import { readdirSync, readFileSync } from "node:fs";
import { eventually } from "@appdb/testkit/eventually";
import { expect } from "vitest";

export const VICTIMS = ["worker", "service", "daemon", "postgres", "backend"] as const;
export type Victim = (typeof VICTIMS)[number];

/** Command-line pattern of each kind of process; PostgreSQL backends rewrite theirs. */
const COMMAND_LINES: Readonly<Record<Victim, RegExp>> = {
  worker: /\bappdb\.worker\b/,
  service: /pod\.js service /,
  daemon: /pod\.js local\b/,
  postgres: /\/bin\/postgres .*-D /,
  backend: /^postgres: .*\bmain \[local\]/,
};

/** Pids of processes of this kind whose environment or command line names the folder. */
export function findVictims(kind: Victim, folder: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => COMMAND_LINES[kind].test(read(pid, "cmdline").replaceAll("\0", " ")))
    .filter((pid) => [pid, parentOf(pid)].some((one) => names(one, folder)))
    .map(Number);
}

/** Kills a process like a crash. Returns false when it had already ended. */
export function kill(pid: number): boolean {
  try {
    process.kill(pid, "SIGKILL");
    return true;
  } catch {
    return false;
  }
}

/** Kills one process of this kind, after waiting for one that is about to start. */
export async function strike(victim: Victim, folder: string, random: () => number, timeoutMs: number): Promise<void> {
  await eventually(
    () => {
      const pids = findVictims(victim, folder);
      expect(pids, `no ${victim} runs`).not.toEqual([]);
      expect(kill(pids[Math.floor(random() * pids.length)] as number)).toBe(true);
    },
    { timeout_ms: timeoutMs },
  );
}

/** A small seeded random generator of numbers in [0, 1), so that a failed run can be repeated. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The victims of a run in shuffled order, with equal numbers of each kind. */
export function deal(kinds: readonly Victim[], kills: number, random: () => number): Victim[] {
  const deck = Array.from({ length: kills }, (_, index) => kinds[index % kinds.length] as Victim);
  for (let last = deck.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [deck[last], deck[other]] = [deck[other] as Victim, deck[last] as Victim];
  }
  return deck;
}

/** A backend overwrites its environment with its title, so its parent is checked. */
function names(pid: string, folder: string): boolean {
  return read(pid, "environ").includes(folder) || read(pid, "cmdline").includes(folder);
}

function parentOf(pid: string): string {
  return /\) \S (\d+)/.exec(read(pid, "stat"))?.[1] ?? "0";
}

function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    // it has ended, or belongs to another user
    return "";
  }
}
