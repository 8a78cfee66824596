import type { Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { awaitIfExists } from "./read-if-exists.ts";

const BLOCK_BYTES = 512;
const AT_ONCE = 32;
/** Gone, or it has become a file meanwhile. */
const GONE = ["ENOENT", "ENOTDIR"];

/** What folders take on the disk, in bytes. @see folderUse */
export async function folderBytes(folders: readonly string[]): Promise<number> {
  return (await folderUse(folders)).bytes;
}

/** Folders are files too. */
export interface FolderUse {
  readonly bytes: number;
  readonly files: number;
}

/**
 * What folders take on the disk: a file of several names counts once, a sparse one by its blocks, and links are
 * not followed. What disappears meanwhile is left out, folders that are not there take nothing. `written_since` leaves out what
 * was made and last written before, by the clock of the file system; counting ends above `most_files`.
 */
export async function folderUse(
  folders: readonly string[],
  {
    most_files: mostFiles = Number.POSITIVE_INFINITY,
    written_since: writtenSince,
  }: { most_files?: number; written_since?: Date } = {},
): Promise<FolderUse> {
  const sinceMs = writtenSince?.getTime() ?? 0;
  const seen = new Set<string>();
  const waiting = [...folders];
  let [bytes, files] = [0, 0];

  async function count(path: string): Promise<void> {
    const found = await awaitIfExists(lstat(path), GONE);
    if (found === undefined) return;
    const key = `${found.dev}:${found.ino}`;
    if (found.nlink > 1 && !found.isDirectory()) {
      if (seen.has(key)) return;
      seen.add(key);
    }
    if (Math.max(found.birthtimeMs, found.mtimeMs) >= sinceMs) {
      bytes += found.blocks * BLOCK_BYTES;
      files += 1;
    }
    if (found.isDirectory()) waiting.push(path);
  }

  for (const folder of waiting.splice(0)) await count(folder);
  for (let folder = waiting.pop(); folder !== undefined && files <= mostFiles; folder = waiting.pop()) {
    const parent = folder;
    const entries: Dirent[] = (await awaitIfExists(readdir(parent, { withFileTypes: true }), GONE)) ?? [];
    for (let at = 0; at < entries.length && files <= mostFiles; at += AT_ONCE) {
      await Promise.all(entries.slice(at, at + AT_ONCE).map(({ name }) => count(join(parent, name))));
    }
  }
  return { bytes, files };
}
