import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { readIfExists } from "./read-if-exists.ts";

const BLOCK_BYTES = 512;
/** Suffix by which the kernel marks a deleted file. */
const DELETED = " (deleted)";
/** Folders in /proc of a process's open and memory-mapped files. */
const HELD = ["fd", "map_files"];
/** Processes may end during the scan, and other users' processes may be unreadable. */
const UNSEEN = ["ENOENT", "ESRCH", "EACCES", "EPERM"];

/**
 * Bytes of deleted files below the folders that processes of the folders' owner still hold open. A walk through the
 * folders cannot find them. Only root sees other users' processes. 0 on systems without /proc.
 */
export function deletedBytes(folders: readonly string[]): number {
  const found = new Map<string, number>();
  const owners = new Set(folders.map((folder) => readIfExists(() => lstatSync(folder).uid, UNSEEN)));
  for (const pid of list("/proc").filter((name) => /^\d+$/.test(name))) {
    // a process has hundreds of memory mappings; reading those of the whole machine takes a second
    if (!owners.has(readIfExists(() => userIdOf(pid), UNSEEN))) continue;
    for (const kind of HELD) {
      for (const name of list(`/proc/${pid}/${kind}`)) {
        const openBytes = readIfExists(() => deletedFile(`/proc/${pid}/${kind}/${name}`, folders), UNSEEN);
        if (openBytes !== undefined) found.set(openBytes.key, openBytes.bytes);
      }
    }
  }
  return [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
}

function deletedFile(link: string, folders: readonly string[]): { key: string; bytes: number } | undefined {
  const path = readlinkSync(link);
  if (!path.endsWith(DELETED) || !folders.some((folder) => path.startsWith(`${folder}/`))) return undefined;
  const { blocks, dev, ino, nlink } = statSync(link);
  return nlink === 0 ? { key: `${dev}:${ino}`, bytes: blocks * BLOCK_BYTES } : undefined;
}

/** Not the owner of its folder in /proc: a process may set that to root. */
function userIdOf(pid: string): number {
  return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]);
}

function list(folder: string): string[] {
  return readIfExists(() => readdirSync(folder), UNSEEN) ?? [];
}
