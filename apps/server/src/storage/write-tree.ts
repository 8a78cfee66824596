import { createHash } from "node:crypto";
import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { findTreeProblem, type TreeEntry } from "@appdb/contract/control/project-tree";
import { appError } from "@appdb/contract/errors";
import type { BlobStore } from "@appdb/system/blobs/blob-store";
import { SEALED, writeEntries } from "@appdb/system/files/write-entries";

/** Files that are looked at before anything else has its turn. */
const LOOKS_AT_ONCE = 200;

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
  const list = entries.map((entry) => ({ ...entry, bytes: () => readEntry(blobs, owner, entry) }));
  await writeEntries(list, folder, SEALED, signal);
}

/** The bytes of a file of a tree, each chunk compared with its digest. @throws blobs_missing with the digest in `meta` */
export async function* readEntry(blobs: BlobStore, owner: string, entry: TreeEntry): AsyncGenerator<Uint8Array> {
  let size = 0;
  for (const digest of entry.chunks) {
    const hash = createHash("sha256");
    for await (const piece of blobs.get(owner, digest)) {
      hash.update(piece);
      size += piece.length;
      if (size > entry.size) throw damaged(digest);
      yield piece;
    }
    if (hash.digest("hex") !== digest) throw damaged(digest);
  }
  if (size !== entry.size) throw damaged(entry.chunks[0] ?? "");
}

/** Whether a folder holds a tree as it was written; false for one that a power cut left in part. Sizes are compared, bytes are not. */
export async function isWritten(entries: readonly TreeEntry[], folder: string): Promise<boolean> {
  if (!isIt(folder, (found) => found.isDirectory())) return false;
  for (const [at, { link, path, size }] of entries.entries()) {
    // a look takes microseconds, and through a thread ten times as long
    if (at % LOOKS_AT_ONCE === 0) await setImmediate();
    const place = join(folder, path);
    const isThere = isIt(place, (found) =>
      link === null ? found.isFile() && found.size === size : found.isSymbolicLink() && readlinkSync(place) === link,
    );
    if (!isThere) return false;
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

function damaged(digest: string): Error {
  return appError("blobs_missing", {
    detail: `The blob ${digest} is not what was uploaded any more.`,
    hint: "Run the command again: it uploads what is missing.",
    meta: { digest },
  });
}
