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
 * A lock that ends with its process. Lock files are numbered and only the highest counts. If its owner is alive, the
 * lock is taken. If the owner is dead, the process that creates the next number gets the lock. The highest file is
 * never removed, so two processes that see the same dead owner compete for one name, and `link` lets exactly one win. A
 * single file that is removed and recreated cannot guarantee this.
 */
export type LockResult =
  | { readonly outcome: "acquired"; release(): void }
  | { readonly outcome: "taken"; readonly owner: ProcessIdentity };

/** Errors of file systems without hard links on Linux, macOS, Windows. */
const NO_LINKS = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "EISDIR"];
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 40;

/**
 * Tries once to take the lock. Creates `folder` when it is missing; lock file names begin with `prefix`.
 * @throws disk_full, home_not_writable
 */
export function tryLock(folder: string, prefix: string, write = writeFileSync): LockResult {
  const self = identifyProcess(process.pid);
  if (self === undefined) throw new Error("This process cannot be found in the process table.");
  for (;;) {
    const present = findOwner(folder, prefix);
    if (present.owner !== undefined) return { outcome: "taken", owner: present.owner };
    // created before the check: if the folder is replaced meanwhile, the draft is not in the new one
    const draft = writeDraft(folder, self, write);
    try {
      const { owner, highest } = findOwner(folder, prefix);
      if (owner !== undefined) return { outcome: "taken", owner };
      const ownDraft = join(folder, `${prefix}${highest + 1}`);
      if (!link(draft, ownDraft)) continue;
      const { ino } = statSync(draft);
      // a later owner may have used and removed our number since the check
      if (listNumbers(folder, prefix).some((number) => number > highest + 1)) {
        rmSync(ownDraft, { force: true });
        continue;
      }
      for (const number of listNumbers(folder, prefix)) {
        if (number <= highest) rmSync(join(folder, `${prefix}${number}`), { force: true });
      }
      return { outcome: "acquired", release: () => release(folder, ownDraft, ino) };
    } finally {
      rmSync(draft, { force: true });
    }
  }
}

/** Current owner of the lock; undefined when it is free. */
export function findLockOwner(folder: string, prefix: string): ProcessIdentity | undefined {
  return findOwner(folder, prefix).owner;
}

/**
 * Waits for the lock and returns an object that releases it. The lock is per process: waiting for a lock that this
 * process holds never ends.
 * @throws the abort's reason
 */
export async function waitForLock(folder: string, prefix: string, signal?: AbortSignal): Promise<Disposable> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    const result = tryLock(folder, prefix);
    if (result.outcome === "acquired") return { [Symbol.dispose]: result.release };
    await sleep(pauseMs, undefined, signal === undefined ? {} : { signal });
  }
}

/** Owner of the highest number, while that process lives. */
function findOwner(folder: string, prefix: string): { owner: ProcessIdentity | undefined; highest: number } {
  const highest = Math.max(0, ...listNumbers(folder, prefix));
  const owner = highest === 0 ? undefined : readOwner(join(folder, `${prefix}${highest}`));
  return { owner: owner !== undefined && isProcessAlive(owner) ? owner : undefined, highest };
}

function writeDraft(folder: string, self: ProcessIdentity, write: typeof writeFileSync): string {
  for (;;) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const draft = join(folder, `draft.${randomBytes(6).toString("hex")}`);
    try {
      write(draft, JSON.stringify(self), { mode: 0o600, flag: "wx" });
      return draft;
    } catch (error) {
      // on a full disk the file is created but empty
      rmSync(draft, { force: true });
      if (isDiskFull(error)) throw diskFull(folder, error);
      // the folder was just moved away
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}

/**
 * Links the draft to its numbered name. False when another process was first, or the draft disappeared with its folder.
 */
function link(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    if (["EEXIST", "ENOENT"].includes(code)) return false;
    if (NO_LINKS.includes(code)) throw linkFailed(draft, error);
    throw error;
  }
}

function diskFull(folder: string, cause: unknown): Error {
  return appError("disk_full", {
    detail: `The disk of ${folder} is full, so the lock file cannot be written.`,
    hint: "Free space on that disk and try again.",
    meta: { folder },
    cause,
  });
}

/** Only a hard link guarantees a unique name and complete content. */
function linkFailed(draft: string, cause: unknown): Error {
  const folder = dirname(draft);
  return appError("home_not_writable", {
    detail: `The file system of ${folder} does not support hard links, which lock a home. FAT and exFAT do not support them.`,
    hint: "Set SERVICE_HOME to a folder on another disk.",
    meta: { folder },
    cause,
  });
}

/**
 * Empties the file so that it has no owner. Skips a file of another owner, which exists when the folder was replaced.
 */
function release(folder: string, path: string, inode: number): void {
  if (statSync(path, { throwIfNoEntry: false })?.ino !== inode) return;
  const draft = join(folder, `draft.${randomBytes(6).toString("hex")}`);
  try {
    writeFileSync(draft, "{}", { mode: 0o600, flag: "wx" });
  } catch (error) {
    rmSync(draft, { force: true });
    if (!isDiskFull(error)) throw error;
    // an empty file has no owner and takes no space
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
  // removed by a later owner, which the next attempt finds
  if (text === undefined) return undefined;
  try {
    const found = JSON.parse(text) as Partial<ProcessIdentity>;
    if (typeof found.pid === "number" && typeof found.started === "string") {
      return { pid: found.pid, started: found.started };
    }
    return undefined;
  } catch {
    // cut off by a machine crash, so its owner no longer lives
    return undefined;
  }
}
