import { randomBytes } from "node:crypto";
import { closeSync, constants, createReadStream, createWriteStream, fstatSync, openSync } from "node:fs";
import { chmod, copyFile, lstat, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AppError, appError } from "@appdb/contract/errors";
import { readStart, removeFile } from "@appdb/system/files/descriptors";
import { isDiskFull } from "@appdb/system/files/is-disk-full";
import { removeFolder } from "@appdb/system/files/remove-folder";
import type { Source } from "./file-source.ts";

/** A file that a worker made is held in memory up to this size. */
const SMALL_BYTES = 128 * 1_024;
const PIECE_BYTES = 1 << 20;

export interface WorkerFolders {
  /** The folder in which workers write what they make. */
  readonly scratch_folder: string;
  /** A folder that no worker can write. */
  readonly uploads_folder: string;
  /** Maximum bytes of a file that a worker made; undefined: unbounded. A sparse file needs none of the disk before its copy. */
  readonly made_bytes: number | undefined;
  /** The same pieces while the disk has room. */
  whileWritable(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

/**
 * Takes a file that a worker has made: a small one is read, any other moved to where no worker can change it. A link of
 * the worker's is not followed. @throws media_invalid
 */
export async function takeWorkerFile(path: string, folders: WorkerFolders): Promise<Source> {
  try {
    if (dirname(path) !== folders.scratch_folder) throw new Error("it is not in the worker's folder");
    return (await takeSmall(path)) ?? (await takeLarge(path, folders));
  } catch (cause) {
    if (isDiskFull(cause)) throw diskFull(cause);
    if (cause instanceof AppError) throw cause;
    // the worker says the path, and it may be anything
    throw appError("media_invalid", {
      detail: `The file ${basename(String(path))} of the function cannot be read: ${describe(cause)}.`,
      hint: "Return the path of a file that exists until the row is stored.",
      cause,
    });
  }
}

/** It becomes another file, because the worker may still have the first one open or by another name. */
async function takeLarge(path: string, folders: WorkerFolders): Promise<string> {
  const moved = join(folders.uploads_folder, randomBytes(12).toString("hex"));
  const taken = `${moved}-own`;
  try {
    await rename(path, moved);
    const found = await lstat(moved);
    if (!found.isFile()) throw new Error("it is not a regular file");
    const { made_bytes: most = Number.POSITIVE_INFINITY } = folders;
    if (found.size > most) throw new Error(`it has ${found.size} bytes, and functions can make at most ${most}`);
    if (!(await isCloned(moved, taken))) {
      const pieces = createReadStream(moved, { start: 0, end: found.size - 1, highWaterMark: PIECE_BYTES });
      await pipeline(
        Readable.from(folders.whileWritable(pieces)),
        createWriteStream(taken, { flags: "wx", mode: 0o600 }),
      );
    }
    await chmod(taken, 0o600);
    return taken;
  } catch (cause) {
    await rm(taken, { force: true });
    throw cause;
  } finally {
    await removeFolder(moved);
  }
}

/** A file system that shares content between files copies it without a byte. */
async function isCloned(path: string, copy: string): Promise<boolean> {
  try {
    await copyFile(path, copy, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL);
    return true;
  } catch {
    // most file systems cannot; the copy below says what else is wrong
    await rm(copy, { force: true });
    return false;
  }
}

/** Reads a small file and removes it; undefined for a larger one, which stays. Neither a link nor a pipe is opened. */
async function takeSmall(path: string): Promise<Uint8Array | undefined> {
  const content = readSmall(path);
  // After closing it: the last close of a removed file takes a millisecond of the event loop, and removing does not.
  if (content !== undefined) await removeFile(path);
  return content;
}

function readSmall(path: string): Uint8Array | undefined {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw new Error("it is not a regular file");
    return found.size > SMALL_BYTES ? undefined : readStart(file, found.size);
  } finally {
    closeSync(file);
  }
}

function describe(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException;
  // a link, which is not followed
  if (code === "ELOOP") return "it is not a regular file";
  return code ?? message;
}

function diskFull(cause: unknown): AppError {
  return appError("disk_full", {
    detail: "The disk has no room for the file that a function has made.",
    hint: "Free space on the disk, and send the request again.",
    cause,
  });
}
