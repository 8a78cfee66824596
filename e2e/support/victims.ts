import { readdirSync, readFileSync } from "node:fs";
import { eventually } from "@appdb/testkit/eventually";
import { expect } from "vitest";

export const VICTIMS = ["worker", "service", "daemon", "postgres", "backend"] as const;
export type Victim = (typeof VICTIMS)[number];

/** How the command line of each kind of process reads; a backend of PostgreSQL rewrites its own. */
const COMMAND_LINES: Readonly<Record<Victim, RegExp>> = {
  worker: /\bappdb\.worker\b/,
  service: /pod\.js service /,
  daemon: /pod\.js local\b/,
  postgres: /\/bin\/postgres .*-D /,
  backend: /^postgres: .*\bmain \[local\]/,
};

/** Pids of the processes of this kind whose environment or command line names the folder. */
export function findVictims(kind: Victim, folder: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => COMMAND_LINES[kind].test(read(pid, "cmdline").replaceAll("\0", " ")))
    .filter((pid) => [pid, parentOf(pid)].some((one) => names(one, folder)))
    .map(Number);
}

/** Ends a process as a crash does. It may have ended by itself: then nothing happens and the answer is false. */
export function kill(pid: number): boolean {
  try {
    process.kill(pid, "SIGKILL");
    return true;
  } catch {
    return false;
  }
}

/** Kills one process of this kind; waits for one while the product is about to start it. */
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

/** A small generator of numbers in [0, 1), the same for the same seed: a run that failed can be repeated. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The victims of a whole run, in the order of their ends: as many of each kind, shuffled. */
export function deal(kinds: readonly Victim[], kills: number, random: () => number): Victim[] {
  const deck = Array.from({ length: kills }, (_, index) => kinds[index % kinds.length] as Victim);
  for (let last = deck.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [deck[last], deck[other]] = [deck[other] as Victim, deck[last] as Victim];
  }
  return deck;
}

/** A backend writes its title over its own environment, hence the look at its parent. */
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
    // it has ended, or belongs to somebody else
    return "";
  }
}
