import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { chmod, type FileHandle, open, opendir, rename, rm, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** Linux: opens a handle to an entry without opening it for reading or writing. */
const O_PATH = 0o10_000_000;
const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Maximum number of entries of one folder removed concurrently. */
const AT_ONCE = 32;
/** Maximum depth with open descriptors, one per level. Deeper folders are first moved to the top. */
const DEEPEST = 64;
const RETRIES = 30;
const RETRY_MS = 100;
/** Maximum number of passes over one folder before giving up. */
const MAX_PASSES = 100_000;
/** Errors while a process that was just ended still writes there. */
const STILL_WRITTEN = ["ENOTEMPTY", "EBUSY", "EEXIST"];

/**
 * Removes a file or a folder with its contents, if it exists. A tenant may change the folder concurrently, so each
 * entry is removed through its parent's descriptor and no link is followed. Retries for 3 seconds while a process still
 * writes there, then rejects with the system's error. Tenants must not be able to write the folder that contains
 * `path`.
 */
export async function removeFolder(path: string): Promise<void> {
  if (process.platform !== "linux") return await rm(path, { recursive: true, force: true, maxRetries: 10 });
  for (let retries = 0; ; retries += 1) {
    try {
      if (await isRemoved(path)) return;
    } catch (error) {
      if (!STILL_WRITTEN.includes(codeOf(error)) || retries >= RETRIES) throw error;
    }
    if (retries >= RETRIES) throw new Error(`The folder ${path} is written to while it is removed.`);
    await sleep(RETRY_MS);
  }
}

/** False when another entry took the name in the meantime. */
async function isRemoved(path: string): Promise<boolean> {
  if (await isUnlinked(path)) return true;
  const folder = await openFolder(path);
  if (folder === undefined) return false;
  await using handle = folder;
  await empty(handle, handle, 1);
  await rmdir(path);
  return true;
}

/** Removes all entries of a folder. Folders that are too deep move to `top`. Repeats until none is left. */
async function empty(top: FileHandle, folder: FileHandle, depth: number): Promise<void> {
  const here = pathOf(folder);
  for (let passes = 1; ; passes += 1) {
    const names: string[] = [];
    let found = 0;
    for await (const { name } of await opendir(here)) {
      found += 1;
      names.push(name);
      if (names.length >= AT_ONCE) await removeEntries(top, here, names.splice(0), depth);
    }
    await removeEntries(top, here, names, depth);
    if (found === 0) return;
    if (passes >= MAX_PASSES) throw new Error("The folder is written to while it is removed.");
  }
}

/** Removes files concurrently and folders one at a time, because each level holds descriptors. */
async function removeEntries(top: FileHandle, here: string, names: readonly string[], depth: number): Promise<void> {
  const results = await Promise.allSettled(names.map((name) => isUnlinked(join(here, name))));
  const folders = results.flatMap((result, at) => {
    if (result.status === "rejected") throw result.reason;
    return result.value ? [] : [join(here, names[at] ?? "")];
  });
  for (const path of folders) await removeBelow(top, path, depth);
}

async function removeBelow(top: FileHandle, path: string, depth: number): Promise<void> {
  const folder = await openFolder(path);
  // swapped or gone: the next pass over its parent sees the current entry
  if (folder === undefined) return;
  await using handle = folder;
  if (depth >= DEEPEST) return await rename(path, join(pathOf(top), `.deep-${randomUUID()}`)).catch(ignoreMissing);
  await empty(top, handle, depth + 1);
  await rmdir(path).catch(ignoreMissing);
}

/** False for a folder. */
async function isUnlinked(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return true;
    if (codeOf(error) !== "EISDIR") throw error;
    return false;
  }
}

/** Opens a folder, even one of ours without permissions. Undefined when it is gone or not a folder. */
async function openFolder(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, FOLDER);
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP"].includes(codeOf(error))) return undefined;
    if (codeOf(error) !== "EACCES") throw error;
  }
  await using closed = await open(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  await chmod(pathOf(closed), 0o700);
  return await open(join(pathOf(closed), "."), constants.O_RDONLY | constants.O_DIRECTORY);
}

function pathOf({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`;
}

function ignoreMissing(error: unknown): void {
  if (!["ENOENT", "ENOTDIR"].includes(codeOf(error))) throw error;
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}
