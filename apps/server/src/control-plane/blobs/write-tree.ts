import { createHash } from "node:crypto";
import { constants, lstatSync, readlinkSync, type Stats } from "node:fs";
import { chmod, mkdir, open, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { BlobStore } from "@appdb/adapters/blobs/blob-store";
import { findTreeProblem, type TreeEntry } from "@appdb/contract/control/project-tree";
import { appError } from "@appdb/contract/errors";

/** Files that are written at a time. */
const AT_ONCE = 16;
/** Files that are looked at before anything else has its turn. */
const LOOKS_AT_ONCE = 200;
/** Never through a link, and never over what is there. */
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Writes a tree of project files into a folder that is empty and nobody else's: plain files that nobody may write, links within the
 * tree, and folders, nothing else. Every byte is compared with its digest.
 * @throws tree_invalid; blobs_missing with the digest in `meta` when a blob is gone or is not what it was
 */
export async function writeTree(
  blobs: BlobStore,
  owner: string,
  entries: readonly TreeEntry[],
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const problem = findTreeProblem(entries);
  if (problem !== undefined)
    throw appError("tree_invalid", { detail: `The project's files cannot be unpacked: ${problem}.` });
  const folders = foldersOf(entries);
  for (const path of folders) await mkdir(join(folder, path), { mode: 0o700 });
  const files = entries.filter(({ link }) => link === null);
  await eachAtOnce(files, AT_ONCE, async (entry) => {
    signal.throwIfAborted();
    await writeFile(blobs, owner, entry, join(folder, entry.path));
  });
  // last: no file was written below one of them
  for (const { link, path } of entries) if (link !== null) await symlink(link, join(folder, path));
  for (const path of [...folders].reverse()) await chmod(join(folder, path), 0o555);
  await chmod(folder, 0o555);
}

/** Whether a folder holds a tree as it was written; false for one that a power cut left in part. Sizes are compared, bytes are not. */
export async function isWritten(entries: readonly TreeEntry[], folder: string): Promise<boolean> {
  if (!isIt(folder, (found) => found.isDirectory())) return false;
  for (const [at, { link, path, size }] of entries.entries()) {
    // a look takes microseconds, and through a thread ten times as long
    if (at % LOOKS_AT_ONCE === 0) await setImmediate();
    const place = join(folder, path);
    const is_there = isIt(place, (found) =>
      link === null ? found.isFile() && found.size === size : found.isSymbolicLink() && readlinkSync(place) === link,
    );
    if (!is_there) return false;
  }
  return true;
}

/** False also of what cannot be looked at: who may not enter a folder does not find its files as they were written. */
function isIt(path: string, check: (found: Stats) => boolean): boolean {
  try {
    return check(lstatSync(path));
  } catch {
    return false;
  }
}

/** The folders of a tree, each behind the one that it lies in. */
function foldersOf(entries: readonly TreeEntry[]): string[] {
  const found = new Set<string>();
  for (const { path } of entries) {
    for (let parent = dirname(path); parent !== "."; parent = dirname(parent)) found.add(parent);
  }
  return [...found].sort((a, b) => (a < b ? -1 : 1));
}

async function writeFile(blobs: BlobStore, owner: string, entry: TreeEntry, path: string): Promise<void> {
  const file = await open(path, NEW_FILE, 0o600);
  try {
    let size = 0;
    for (const digest of entry.chunks) {
      const hash = createHash("sha256");
      for await (const piece of blobs.get(owner, digest)) {
        hash.update(piece);
        for (let at = 0; at < piece.length; ) at += (await file.write(piece, at)).bytesWritten;
        size += piece.length;
        if (size > entry.size) throw damaged(digest);
      }
      if (hash.digest("hex") !== digest) throw damaged(digest);
    }
    if (size !== entry.size) throw damaged(entry.chunks[0] ?? "");
    await file.chmod(entry.is_executable ? 0o555 : 0o444);
  } finally {
    await file.close();
  }
}

function damaged(digest: string): Error {
  return appError("blobs_missing", {
    detail: `The blob ${digest} is not what was uploaded any more.`,
    hint: "Run the command again: it uploads what is missing.",
    meta: { digest },
  });
}

/** In order, so many at a time; the first error ends it once those that were begun have ended. */
async function eachAtOnce<T>(items: readonly T[], count: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = items[Symbol.iterator]();
  const errors: unknown[] = [];
  const lane = async () => {
    for (let next = rest.next(); next.done !== true && errors.length === 0; next = rest.next()) {
      await work(next.value).catch((error: unknown) => errors.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, items.length) }, lane));
  if (errors.length > 0) throw errors[0];
}
