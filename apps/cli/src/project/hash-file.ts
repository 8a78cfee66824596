import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { CHUNK_BYTES } from "@appdb/contract/control/project-tree";
import { type AppError, appError } from "@appdb/contract/errors";
import type { FileDigests } from "./digest-cache.ts";

/** One buffer for all files of a command. */
let buffer: Buffer | undefined;

/**
 * SHA-256 of a whole file and of its chunks. `onChunk` is called after each chunk, so that other work can run.
 * @throws files_changed when it changes meanwhile; the system's error
 */
export async function hashFile(
  path: string,
  absolute: string,
  onChunk: () => Promise<void>,
): Promise<FileDigests & { readonly stats: Stats }> {
  buffer ??= Buffer.allocUnsafeSlow(CHUNK_BYTES);
  const file = openSync(absolute, "r");
  try {
    const before = fstatSync(file);
    const whole = createHash("sha256");
    const chunks: string[] = [];
    let size = 0;
    for (;;) {
      const length = readChunk(file, buffer, size);
      if (length > 0) chunks.push(digestOf(buffer.subarray(0, length)));
      if (before.size > CHUNK_BYTES) whole.update(buffer.subarray(0, length));
      size += length;
      await onChunk();
      if (length < CHUNK_BYTES) break;
    }
    const after = fstatSync(file);
    if (size !== before.size || !isSameFile(before, after)) throw filesChanged([path]);
    const digest = before.size > CHUNK_BYTES ? whole.digest("hex") : (chunks[0] ?? EMPTY);
    return { digest, chunks, stats: before };
  } finally {
    closeSync(file);
  }
}

export function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

const EMPTY = digestOf(Buffer.alloc(0));

/** Whether a file is unchanged between two checks, as far as the file system shows. */
export function isSameFile(one: Stats, other: Stats): boolean {
  return (
    one.size === other.size && one.mtimeMs === other.mtimeMs && one.ctimeMs === other.ctimeMs && one.ino === other.ino
  );
}

/** Error for files that changed since the command first read them. */
export function filesChanged(paths: readonly string[]): AppError {
  const shown = paths.slice(0, 3).join(", ");
  const more = paths.length > 3 ? ` and ${paths.length - 3} more` : "";
  return appError("files_changed", {
    detail: `Files changed while they were being read: ${shown}${more}. Nothing was changed on the hosted side.`,
    hint: "Run the command again when no program writes them.",
    meta: { files: paths.slice(0, 100) },
  });
}

/** Fills the buffer from an offset of the file. Fewer bytes mean the end of the file. */
function readChunk(file: number, into: Buffer, from: number): number {
  let length = 0;
  while (length < into.length) {
    const got = readSync(file, into, length, into.length - length, from + length);
    if (got === 0) break;
    length += got;
  }
  return length;
}
