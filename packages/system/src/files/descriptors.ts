import { fchmod, fdatasync, fsync, open, readSync, unlink, write, writev } from "node:fs";
import { promisify } from "node:util";
import { awaitIfExists } from "./read-if-exists.ts";

/**
 * Files by their descriptors, for paths that handle many small files. A call to Node's pool of threads takes ten times
 * as long as a call that finds what it needs in memory, and handles of `node:fs/promises` take twice as long again. What
 * may wait for the disk uses the pool: creating, writing, syncing and removing.
 */
export const createFile = promisify(open);
export const syncFile = promisify(fsync);
export const syncData = promisify(fdatasync);
export const setMode = promisify(fchmod);
const writeBytes = promisify(write);
const writePieces = promisify(writev);
const removeName = promisify(unlink);

/** Reads so many bytes from the start of a file that was just written, or all of a shorter one. */
export function readStart(file: number, bytes: number): Buffer {
  const content = Buffer.allocUnsafeSlow(bytes);
  return content.subarray(0, readSync(file, content, 0, bytes, 0));
}

/** Appends all the bytes. */
export async function writeAll(file: number, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await writeBytes(file, bytes, at)).bytesWritten;
}

/** Appends all the pieces with one call, or a few for a disk that takes part of them. */
export async function writeAllOf(file: number, pieces: readonly Uint8Array[]): Promise<void> {
  let { bytesWritten: done } = await writePieces(file, pieces);
  for (const piece of pieces) {
    if (done < piece.length) await writeAll(file, piece.subarray(done));
    done = Math.max(0, done - piece.length);
  }
}

/** Removes a file's name if it exists. */
export async function removeFile(path: string): Promise<void> {
  await awaitIfExists(removeName(path));
}
