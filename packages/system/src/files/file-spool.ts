import { randomUUID } from "node:crypto";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { appError } from "@appdb/contract/errors";
import type { Spool } from "@appdb/engine/ports";
import { isDiskFull } from "./is-disk-full.ts";

/** Maximum size kept in memory. Larger content goes to a file completely. */
export const MEMORY_BYTES = 8_000_000;
const READ_BYTES = 262_144;

/**
 * A spool backed by a file in the folder, by default the system's temporary folder. The file is unlinked once it is
 * open, so no end of the process leaves it behind.
 */
export function createFileSpool(folder = tmpdir()): Spool {
  return new FileSpool(folder);
}

class FileSpool implements Spool {
  readonly #folder: string;
  #pieces: Buffer[] = [];
  #bufferedBytes = 0;
  #bytes = 0;
  #file: FileHandle | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get bytes(): number {
    return this.#bytes;
  }

  async write(piece: string | Uint8Array): Promise<void> {
    const written = typeof piece === "string" ? Buffer.from(piece, "utf8") : Buffer.from(piece);
    this.#pieces.push(written);
    this.#bufferedBytes += written.length;
    this.#bytes += written.length;
    if (this.#bufferedBytes >= MEMORY_BYTES) await this.#flush();
  }

  async *read(): AsyncGenerator<Uint8Array> {
    if (this.#file !== undefined) await this.#flush();
    const file = this.#file;
    if (file === undefined) {
      yield* this.#pieces;
      return;
    }
    for (let at = 0; at < this.#bytes; ) {
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, at);
      if (bytesRead === 0) throw new Error(`A spool of ${this.#bytes} bytes ended after ${at}.`);
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#pieces = [];
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  async #flush(): Promise<void> {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#bufferedBytes = 0;
    try {
      this.#file ??= await openNameless(this.#folder);
      for (const piece of pieces) await writeAll(this.#file, piece);
    } catch (error) {
      throw isDiskFull(error) ? diskFull(error) : error;
    }
  }
}

async function openNameless(folder: string): Promise<FileHandle> {
  const path = join(folder, `appdb-spool-${randomUUID()}`);
  const file = await open(path, "wx+", 0o600);
  await unlink(path);
  return file;
}

/** One write may accept only a part of the bytes. */
async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, at);
    at += bytesWritten;
  }
}

function diskFull(cause: unknown): Error {
  return appError("disk_full", {
    detail: "The disk has no room for the request's rows or their answer. Nothing was stored.",
    hint: "Free space on the disk, and send the request again.",
    cause,
  });
}
