import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fstatSync,
  lchownSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  type Stats,
} from "node:fs";
import { open } from "node:fs/promises";
import { isAbsolute, join, normalize, sep } from "node:path";
import { appError } from "@appdb/contract/errors";

/*
 * The only module that handles files in folders that tenants can write. It opens each entry through its parent's
 * descriptor and follows no link of a tenant. A descriptor keeps naming the same entry, even when another entry takes
 * its name.
 */

/** Linux: opens a handle to an entry without opening it for reading or writing. */
const O_PATH = 0o10_000_000;
const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const ENTRY = O_PATH | constants.O_NOFOLLOW;
/** Opens regular files only: no links, and no pipes that would block the caller. */
export const TENANT_FILE = constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Maximum number of system links on one path; the kernel has the same limit. */
const MAX_LINKS = 40;
/** Maximum depth when the owner of a tree changes; each level holds a descriptor. */
const DEEPEST_TREE = 256;
const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;
const NO_FOLDER = ["ENOENT", "ENOTDIR", "ELOOP"];

/** Identity of the opened entry. Another entry at the same path has another identity. */
export interface EntryIdentity {
  readonly dev: bigint;
  readonly ino: bigint;
}

/**
 * Runs `work` in a folder that a tenant can write or replace. `path` names the opened folder until `work` ends.
 * Undefined when no folder is there, or when the last part is a link.
 */
export async function withTenantFolder<T>(folder: string, work: (path: string) => Promise<T>): Promise<T | undefined> {
  const handle = await open(folder, FOLDER).catch(noFolder);
  if (handle === undefined) return undefined;
  try {
    return await work(descriptorPath(handle.fd, folder));
  } finally {
    await handle.close();
  }
}

/** Synchronous version of `withTenantFolder`. */
export function withTenantFolderSync<T>(folder: string, work: (path: string) => T): T | undefined {
  let file: number;
  try {
    file = openSync(folder, FOLDER);
  } catch (error) {
    return noFolder(error);
  }
  try {
    return work(descriptorPath(file, folder));
  } finally {
    closeSync(file);
  }
}

/**
 * Reads at most `most_bytes` of a file that a tenant can write or replace. Undefined when the path is not a regular
 * file.
 */
export function readTenantFile(path: string, maxBytes: number): string | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | TENANT_FILE);
  } catch (error) {
    return noFolder(error);
  }
  try {
    if (!fstatSync(file).isFile()) return undefined;
    const bytes = Buffer.alloc(maxBytes);
    return bytes.toString("utf8", 0, readSync(file, bytes, 0, maxBytes, 0));
  } finally {
    closeSync(file);
  }
}

/**
 * Gives a folder and its contents to a user, and creates it when it is missing. That user may own no parent folder, and
 * links on the way must belong to the system. Otherwise the user could swap entries.
 * @throws pod_failed for such a path, for a path that is not a folder, and for a tree deeper than 256 folders
 */
export function chownTree(path: string, uid: number): EntryIdentity {
  return withEntry(path, { makes: true, owner: uid, has_own_links: false }, (entry, found) => {
    if (!found.isDirectory()) throw notGiven(path, "it is not a folder");
    own(entry, uid, path, 0);
    return identityOf(entry);
  });
}

/**
 * Makes folders directly in a folder that a tenant can write, unless they are there. They belong to `uid`; null: to our
 * own user. What is there stays as it is.
 * @throws pod_failed where a name is something else than a folder
 */
export function makeTenantFolders(path: string, names: readonly string[], uid: number | null): void {
  withEntry(path, { makes: false, owner: undefined, has_own_links: false }, (parent) => {
    for (const name of names) {
      const below = join(path, name);
      const entry = openPart(parent, name, true);
      if (entry === undefined) continue;
      try {
        const found = fstatSync(entry);
        if (!found.isDirectory()) throw notGiven(below, "it is not a folder");
        if (uid !== null && found.uid !== uid) chownSync(descriptorPath(entry, below), uid, uid);
      } finally {
        closeSync(entry);
      }
    }
  });
}

/**
 * Lets every user enter and read a folder, unless `uid` owns it. Does not change its parents. Undefined when nothing is
 * at the path.
 * @throws pod_failed for a link of another user on the way
 */
export function openToOthers(path: string, uid: number): EntryIdentity | undefined {
  const OTHERS_READ = 0o005;
  return withEntry(path, { makes: false, owner: undefined, has_own_links: true }, (entry, found) => {
    const isClosed = found.isDirectory() && (found.mode & OTHERS_READ) !== OTHERS_READ;
    if (found.uid !== uid && isClosed) chmodSync(descriptorPath(entry, path), found.mode | OTHERS_READ);
    return identityOf(entry);
  });
}

/**
 * Refuses a path that leads through another user's link. A path that is written to (`is_written`) may only lead through
 * system links: where pods run as our own user, pods can create our links.
 * @throws pod_failed
 */
export function refuseTenantLinks(path: string, isWritten: boolean): void {
  withEntry(path, { makes: false, owner: undefined, has_own_links: !isWritten }, () => undefined);
}

interface WalkOptions {
  /** Whether to create missing folders. */
  readonly makes: boolean;
  /** User that may not own any folder on the way. */
  readonly owner: number | undefined;
  /** Whether to follow links of our own user in addition to root's. */
  readonly has_own_links: boolean;
}

/** Opens a path part by part from the root. Undefined when nothing is there and `makes` is false. */
function withEntry<T>(path: string, options: WalkOptions & { readonly makes: true }, work: Work<T>): T;
function withEntry<T>(path: string, options: WalkOptions, work: Work<T>): T | undefined;
function withEntry<T>(path: string, options: WalkOptions, work: Work<T>): T | undefined {
  if (!isAbsolute(path) || normalize(path) !== path) throw notGiven(path, "the path is not absolute and normalized");
  const waiting = partsOf(path);
  let links = 0;
  let entry = openSync("/", ENTRY);
  try {
    for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
      const above = fstatSync(entry);
      if (options.owner !== undefined && options.owner !== 0 && above.uid === options.owner)
        throw notGiven(path, "a folder above it belongs to the user that gets it");
      const next = openPart(entry, part, options.makes);
      if (next === undefined) return undefined;
      const found = fstatSync(next);
      if (!found.isSymbolicLink()) {
        closeSync(entry);
        entry = next;
        continue;
      }
      closeSync(next);
      links += 1;
      const target = readlinkSync(join(descriptorPath(entry, path), part));
      const name = join("/", ...partsOf(path).slice(0, -1 - waiting.length), part);
      if (waiting.length === 0 && options.owner !== undefined) throw notGiven(path, `it is a link to ${target}`);
      refuseLink(path, { above, found, name: links === 1 ? name : part, target }, options);
      if (links > MAX_LINKS) throw notGiven(path, `it leads through more than ${MAX_LINKS} links`);
      waiting.unshift(...partsOf(target));
      if (!isAbsolute(target)) continue;
      closeSync(entry);
      entry = openSync("/", ENTRY);
    }
    return work(entry, fstatSync(entry));
  } finally {
    closeSync(entry);
  }
}

type Work<T> = (entry: number, found: Stats) => T;

interface FoundLink {
  readonly above: Stats;
  readonly found: Stats;
  readonly name: string;
  readonly target: string;
}

/** A link counts as a system link when no other user can replace it. */
function refuseLink(
  path: string,
  { above, found, name, target }: FoundLink,
  { has_own_links: hasOwnLinks }: WalkOptions,
): void {
  const trusted = hasOwnLinks ? [0, process.getuid?.() ?? 0] : [0];
  if (!trusted.includes(found.uid)) throw notGiven(path, `${name} is a link to ${target} that another user made`);
  const isShared = (above.mode & WRITABLE_BY_OTHERS) !== 0 && (above.mode & STICKY) === 0;
  if (!trusted.includes(above.uid) || isShared)
    throw notGiven(path, `${name} is a link to ${target} in a folder that another user can write`);
}

function openPart(entry: number, part: string, makes: boolean): number | undefined {
  const path = `/proc/self/fd/${entry}/${part}`;
  const opened = openIfThere(path);
  if (opened !== undefined || !makes) return opened;
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return openSync(path, ENTRY);
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, ENTRY);
  } catch (error) {
    return noFolder(error);
  }
}

/**
 * Changes the owner of an entry after its contents. An entry that the user already owns was given with all of its
 * contents.
 */
function own(entry: number, uid: number, path: string, depth: number): void {
  const found = fstatSync(entry);
  if (found.uid === uid) return;
  if (depth > DEEPEST_TREE) throw notGiven(path, `it holds folders ${DEEPEST_TREE} levels deep`);
  const here = descriptorPath(entry, path);
  if (found.isDirectory()) for (const name of readdirSync(here)) chownBelow(join(here, name), uid, path, depth);
  chownSync(here, uid, uid);
}

function chownBelow(below: string, uid: number, path: string, depth: number): void {
  const entry = openIfThere(below);
  if (entry === undefined) return;
  try {
    // the owner of a link cannot be changed through a descriptor, but its folder is pinned
    if (fstatSync(entry).isSymbolicLink()) lchownSync(below, uid, uid);
    else own(entry, uid, path, depth + 1);
  } finally {
    closeSync(entry);
  }
}

function identityOf(entry: number): EntryIdentity {
  const { dev, ino } = fstatSync(entry, { bigint: true });
  return { dev, ino };
}

function partsOf(path: string): string[] {
  return path.split(sep).filter((part) => part !== "" && part !== ".");
}

/** Drivers isolate pods on Linux only. */
function descriptorPath(file: number, folder: string): string {
  return process.platform === "linux" ? `/proc/self/fd/${file}` : folder;
}

function noFolder(error: unknown): undefined {
  if (NO_FOLDER.includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
  throw error;
}

function notGiven(path: string, reason: string): Error {
  return appError("pod_failed", {
    detail: `The folder ${path} cannot be given to a pod: ${reason}.`,
    hint: `Check each part of the path, then remove what a pod put there: namei -l ${path}`,
    meta: { path },
  });
}
