import { randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { identifyProcess, isAlive, type ProcessIdentity } from "./process-identity.ts";

/**
 * The lock that makes one daemon per home. Lock files are numbered and only the highest counts: it belongs to a process
 * that is either alive, then the home is taken, or dead, then whoever makes the next number has it. Nobody ever removes
 * the highest file, so two that find the same dead owner race for one name and `link` lets exactly one have it; a single
 * file that is removed and made again cannot promise that.
 */
export type LockResult =
  | { readonly outcome: "acquired" }
  | { readonly outcome: "taken"; readonly owner: ProcessIdentity };

/** Tries to take the home once. `folder` is made when it is missing. The lock ends with the process. */
export function acquireHomeLock(folder: string): LockResult {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const self = identifyProcess(process.pid);
  if (self === undefined) throw new Error("This process cannot be found in the process table.");
  for (;;) {
    const highest = Math.max(0, ...listNumbers(folder));
    const owner = highest === 0 ? undefined : readOwner(join(folder, `${PREFIX}${highest}`));
    if (owner !== undefined && isAlive(owner)) return { outcome: "taken", owner };
    const mine = highest + 1;
    if (!create(folder, mine, self)) continue;
    // our number may have been used and cleared away by a later owner since we looked
    if (listNumbers(folder).some((number) => number > mine)) {
      rmSync(join(folder, `${PREFIX}${mine}`), { force: true });
      continue;
    }
    for (const number of listNumbers(folder)) {
      if (number < mine) rmSync(join(folder, `${PREFIX}${number}`), { force: true });
    }
    return { outcome: "acquired" };
  }
}

const PREFIX = "daemon.";

/** Makes the numbered file with its text in it at once; false when somebody else was first. */
function create(folder: string, number: number, self: ProcessIdentity): boolean {
  const draft = join(folder, `draft.${randomBytes(6).toString("hex")}`);
  writeFileSync(draft, JSON.stringify(self), { mode: 0o600, flag: "wx" });
  try {
    linkSync(draft, join(folder, `${PREFIX}${number}`));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function listNumbers(folder: string): number[] {
  return readdirSync(folder)
    .filter((name) => /^daemon\.\d+$/.test(name))
    .map((name) => Number(name.slice(PREFIX.length)));
}

function readOwner(path: string): ProcessIdentity | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    // cleared away by a later owner, whom the next look finds
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const found = JSON.parse(text) as Partial<ProcessIdentity>;
    if (typeof found.pid === "number" && typeof found.started === "string") {
      return { pid: found.pid, started: found.started };
    }
    return undefined;
  } catch {
    // torn by a crash of the machine: nobody of that time lives
    return undefined;
  }
}
