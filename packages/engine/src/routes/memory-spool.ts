import type { Spool } from "../ports.ts";

/** A spool in memory, for callers without a file system. */
export function createMemorySpool(): Spool {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  return {
    get bytes() {
      return bytes;
    },
    async write(piece) {
      const written = Buffer.from(piece);
      pieces.push(written);
      bytes += written.length;
    },
    async *read() {
      yield* pieces;
    },
    async [Symbol.asyncDispose]() {
      pieces = [];
    },
  };
}
