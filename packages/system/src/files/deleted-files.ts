import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { readIfExists } from "./read-if-exists.ts";

const BLOCK_BYTES = 512;
/** As the kernel writes the name of a file that has none any more. */
const DELETED = " (deleted)";
/** Where a process's files are: those that it has open, and those that it has in its memory. */
const HELD = ["fd", "map_files"];
/** Processes end between two looks, and others' are not shown to everybody. */
const UNSEEN = ["ENOENT", "ESRCH", "EACCES", "EPERM"];

/**
 * What files take on the disk that were deleted below the folders and that a process of the folders' owner still holds, in bytes:
 * no walk through the folders finds them. Of other users' processes only root is told; 0 where there is no /proc.
 */
export function deletedBytes(folders: readonly string[]): number {
  const found = new Map<string, number>();
  const owners = new Set(folders.map((folder) => readIfExists(() => lstatSync(folder).uid, UNSEEN)));
  for (const pid of list("/proc").filter((name) => /^\d+$/.test(name))) {
    // what a process has in its memory is hundreds of entries: all of a machine's take a second
    if (!owners.has(readIfExists(() => userOf(pid), UNSEEN))) continue;
    for (const kind of HELD) {
      for (const name of list(`/proc/${pid}/${kind}`)) {
        const held = readIfExists(() => deletedFile(`/proc/${pid}/${kind}/${name}`, folders), UNSEEN);
        if (held !== undefined) found.set(held.key, held.bytes);
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

/** Not whom its folder in /proc belongs to: a process may have that be root. */
function userOf(pid: string): number {
  return Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]);
}

function list(folder: string): string[] {
  return readIfExists(() => readdirSync(folder), UNSEEN) ?? [];
}
