import { createHash } from "node:crypto";
import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { findTreeProblem, type TreeEntry } from "@appdb/contract/control/project-tree";
import { appError } from "@appdb/contract/errors";
import type { BlobStore } from "@appdb/system/blobs/blob-store";
import { SEALED, writeEntries } from "@appdb/system/files/write-entries";

/** Synchronous checks before the event loop gets a turn. */
const LOOKS_AT_ONCE = 200;

/**
 * Writes a tree of project files into an empty, private folder: read-only files, links within the tree, and folders.
 * Compares all bytes with their digests.
 * @throws tree_invalid; blobs_missing with the digest in `meta` if a blob is lost or damaged
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

/** A file's bytes, each chunk checked by its digest. @throws blobs_missing with the digest in `meta` */
export async function* readEntry(blobs: BlobStore, owner: string, entry: TreeEntry): AsyncGenerator<Uint8Array> {
  let size = 0;
  for (const digest of entry.chunks) {
    const hash = createHash("sha256");
    for await (const piece of blobs.get(owner, digest)) {
      hash.update(piece);
      size += piece.length;
      if (size > entry.size) throw corruptBlob(digest);
      yield piece;
    }
    if (hash.digest("hex") !== digest) throw corruptBlob(digest);
  }
  if (size !== entry.size) throw corruptBlob(entry.chunks[0] ?? "");
}

/** Whether a folder contains the complete tree; false after a power cut. Compares sizes, not bytes. */
export async function isWritten(entries: readonly TreeEntry[], folder: string): Promise<boolean> {
  if (!matchesStats(folder, (found) => found.isDirectory())) return false;
  for (const [at, { link, path, size }] of entries.entries()) {
    // a synchronous check takes microseconds, ten times less than in a thread
    if (at % LOOKS_AT_ONCE === 0) await setImmediate();
    const entryPath = join(folder, path);
    const isIntact = matchesStats(entryPath, (found) =>
      link === null
        ? found.isFile() && found.size === size
        : found.isSymbolicLink() && readlinkSync(entryPath) === link,
    );
    if (!isIntact) return false;
  }
  return true;
}

/** Also false for a path that cannot be read. */
function matchesStats(path: string, check: (found: Stats) => boolean): boolean {
  try {
    return check(lstatSync(path));
  } catch {
    return false;
  }
}

function corruptBlob(digest: string): Error {
  return appError("blobs_missing", {
    detail: `The blob ${digest} is damaged.`,
    hint: "Run the command again to upload the missing files.",
    meta: { digest },
  });
}
