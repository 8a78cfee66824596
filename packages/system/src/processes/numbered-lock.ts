import { randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import { isDiskFull } from "../files/is-disk-full.ts";
import { moveFile } from "../files/move-file.ts";
import { readIfExists } from "../files/read-if-exists.ts";
import { identifyProcess, isProcessAlive, type ProcessIdentity } from "./process-identity.ts";

/**
 * A lock that ends with its process. Lock files are numbered and only the highest counts: it belongs to a process
 * that is either alive, then the lock is taken, or dead, then whoever makes the next number has it. Nobody ever removes
 * the highest file, so two that find the same dead owner race for one name and `link` lets exactly one have it; a single
 * file that is removed and made again cannot promise that.
 */
export type LockResult =
  | { readonly outcome: "acquired"; release(): void }
  | { readonly outcome: "taken"; readonly owner: ProcessIdentity };

/** What systems say where a file system has no links: Linux, macOS, Windows. */
const NO_LINKS = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "EISDIR"];
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 40;

/** Tries to take the lock once. `folder` is made when it is missing; the lock's files in it begin with `prefix`. */
export function tryLock(folder: string, prefix: string): LockResult {
  const self = identifyProcess(process.pid);
  if (self === undefined) throw new Error("This process cannot be found in the process table.");
  for (;;) {
    const present = findOwner(folder, prefix);
    if (present.owner !== undefined) return { outcome: "taken", owner: present.owner };
    // made before what counts is looked at: if the folder is moved away and made anew meanwhile, the draft is not in it
    const draft = writeDraft(folder, self);
    try {
      const { owner, highest } = findOwner(folder, prefix);
      if (owner !== undefined) return { outcome: "taken", owner };
      const mine = join(folder, `${prefix}${highest + 1}`);
      if (!link(draft, mine)) continue;
      const { ino } = statSync(draft);
      // our number may have been used and cleared away by a later owner since we looked
      if (listNumbers(folder, prefix).some((number) => number > highest + 1)) {
        rmSync(mine, { force: true });
        continue;
      }
      for (const number of listNumbers(folder, prefix)) {
        if (number <= highest) rmSync(join(folder, `${prefix}${number}`), { force: true });
      }
      return { outcome: "acquired", release: () => release(folder, mine, ino) };
    } finally {
      rmSync(draft, { force: true });
    }
  }
}

/** Who has the lock now; undefined when nobody does. */
export function findLockOwner(folder: string, prefix: string): ProcessIdentity | undefined {
  return findOwner(folder, prefix).owner;
}

/** Waits for the lock, which the returned object lets go of. It knows processes: who has it and waits again waits for ever.
 *  @throws the abort's reason */
export async function waitForLock(folder: string, prefix: string, signal?: AbortSignal): Promise<Disposable> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    const result = tryLock(folder, prefix);
    if (result.outcome === "acquired") return { [Symbol.dispose]: result.release };
    await sleep(pauseMs, undefined, signal === undefined ? {} : { signal });
  }
}

/** Whose the highest number is, while that process lives. */
function findOwner(folder: string, prefix: string): { owner: ProcessIdentity | undefined; highest: number } {
  const highest = Math.max(0, ...listNumbers(folder, prefix));
  const owner = highest === 0 ? undefined : readOwner(join(folder, `${prefix}${highest}`));
  return { owner: owner !== undefined && isProcessAlive(owner) ? owner : undefined, highest };
}

function writeDraft(folder: string, self: ProcessIdentity): string {
  for (;;) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const draft = join(folder, `draft.${randomBytes(6).toString("hex")}`);
    try {
      writeFileSync(draft, JSON.stringify(self), { mode: 0o600, flag: "wx" });
      return draft;
    } catch (error) {
      // on a full disk the file is made and stays empty
      rmSync(draft, { force: true });
      // the folder was moved away just now
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}

/** Gives the draft its numbered name; false when somebody else was first, or the draft went with its folder. */
function link(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    if (["EEXIST", "ENOENT"].includes(code)) return false;
    if (NO_LINKS.includes(code)) throw cannotLink(draft, error);
    throw error;
  }
}

/** Nothing but a link, or an equal to it, promises that one alone has a name and that its text is whole. */
function cannotLink(draft: string, cause: unknown): Error {
  const folder = dirname(draft);
  return appError("home_not_writable", {
    detail: `The file system of ${folder} has no hard links, by which a home is locked. FAT and exFAT have none.`,
    hint: "Set SERVICE_HOME to a folder on another disk.",
    meta: { folder },
    cause,
  });
}

/** The file stays, as nobody's; unless it is another's by now, because whoever had the lock took its folder away. */
function release(folder: string, path: string, inode: number): void {
  if (statSync(path, { throwIfNoEntry: false })?.ino !== inode) return;
  const draft = join(folder, `draft.${randomBytes(6).toString("hex")}`);
  try {
    writeFileSync(draft, "{}", { mode: 0o600, flag: "wx" });
  } catch (error) {
    rmSync(draft, { force: true });
    if (!isDiskFull(error)) throw error;
    // an empty file is nobody's too, and takes no room
    truncateSync(path);
    return;
  }
  moveFile(draft, path);
}

function listNumbers(folder: string, prefix: string): number[] {
  return (readIfExists(() => readdirSync(folder)) ?? [])
    .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)));
}

function readOwner(path: string): ProcessIdentity | undefined {
  const text = readIfExists(() => readFileSync(path, "utf8"));
  // cleared away by a later owner, whom the next look finds
  if (text === undefined) return undefined;
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
