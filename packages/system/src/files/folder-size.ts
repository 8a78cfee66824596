import type { Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { awaitIfExists } from "./read-if-exists.ts";

const BLOCK_BYTES = 512;
const AT_ONCE = 32;
/** Removed, or replaced by a file, in the meantime. */
const GONE = ["ENOENT", "ENOTDIR"];
/** Too deep for a path, or closed to us. */
const UNREADABLE = ["ENAMETOOLONG", "EACCES", "EPERM"];

/** Disk usage of folders in bytes. @see folderUse */
export async function folderBytes(folders: readonly string[]): Promise<number> {
  return (await folderUse(folders)).bytes;
}

/** Number of entries; folders count too. */
export interface FolderUse {
  readonly bytes: number;
  readonly files: number;
}

/**
 * Measures the disk usage of folders. A file with several names counts once, a sparse file by its blocks; links are not
 * followed. Entries that disappear during the scan are skipped, and missing folders count as 0. `written_since` skips
 * entries created and last written earlier, by the file system's clock. Counting stops above `max_files`. Folders that
 * cannot be read count as infinite, as those too deep for a path: code could hide files there.
 */
export async function folderUse(
  folders: readonly string[],
  {
    max_files: maxFiles = Number.POSITIVE_INFINITY,
    written_since: writtenSince,
  }: { max_files?: number; written_since?: Date } = {},
): Promise<FolderUse> {
  const sinceMs = writtenSince?.getTime() ?? 0;
  const endAtUnreadable = (error: NodeJS.ErrnoException): undefined => {
    if (!UNREADABLE.includes(error.code ?? "")) throw error;
    [bytes, files] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  };
  const seen = new Set<string>();
  const waiting = [...folders];
  let [bytes, files] = [0, 0];

  async function count(path: string): Promise<void> {
    const found = await awaitIfExists(lstat(path).catch(endAtUnreadable), GONE);
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
  for (let folder = waiting.pop(); folder !== undefined && files <= maxFiles; folder = waiting.pop()) {
    const parent = folder;
    const entries: Dirent[] =
      (await awaitIfExists(readdir(parent, { withFileTypes: true }).catch(endAtUnreadable), GONE)) ?? [];
    for (let at = 0; at < entries.length && files <= maxFiles; at += AT_ONCE) {
      await Promise.all(entries.slice(at, at + AT_ONCE).map(({ name }) => count(join(parent, name))));
    }
  }
  return { bytes, files };
}
