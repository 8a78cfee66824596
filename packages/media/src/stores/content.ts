import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { MediaContent } from "./media-store.ts";

/** Parts of one object on their way at once: memory of a put is so many parts. */
export const PARTS_AT_ONCE = 3;
const READ_BYTES = 1 << 20;
const NOTHING = Buffer.alloc(0);

/** A file of this machine that does not change. `bytes`: its length, if known. */
export async function fileContent(path: string, bytes?: number): Promise<MediaContent> {
  return {
    bytes: bytes ?? (await stat(path)).size,
    path,
    read: (start, end) =>
      end <= start ? noBytes() : createReadStream(path, { start, end: end - 1, highWaterMark: READ_BYTES }),
  };
}

export function bytesContent(bytes: Uint8Array): MediaContent {
  return {
    bytes: bytes.length,
    async *read(start, end) {
      yield bytes.subarray(start, end);
    },
  };
}

/** Bytes that arrive once and in order. */
export interface StreamedContent extends MediaContent {
  /** Reads what is left, so that a sender that is still sending gets its response. */
  drain(): Promise<void>;
}

/**
 * Content that arrives once. Parts are read one after the other, in the order in which they were asked for. The last part
 * fails unless the whole has its length and its hash: `invalid` makes the error.
 */
export function streamedContent(
  source: AsyncIterable<Uint8Array>,
  { bytes, sha256 }: { readonly bytes: number; readonly sha256: string | undefined },
  invalid: (said: string) => Error,
): StreamedContent {
  const pieces = source[Symbol.asyncIterator]();
  const hash = createHash("sha256");
  let rest: Uint8Array = Buffer.alloc(0);
  let at = 0;
  let earlier: Promise<void> = Promise.resolve();
  const take = async (most: number): Promise<Uint8Array> => {
    while (rest.length === 0) {
      const next = await pieces.next();
      if (next.done === true) throw invalid(`there are ${at} of ${bytes} bytes`);
      rest = next.value;
    }
    const piece = rest.subarray(0, most);
    rest = rest.subarray(piece.length);
    hash.update(piece);
    at += piece.length;
    return piece;
  };
  async function* readInTurn(before: Promise<void>, start: number, end: number, done: () => void) {
    try {
      await before;
      if (start !== at) throw new Error(`Bytes from ${start} are read, and the stream is at ${at}.`);
      while (at < end) yield await take(end - at);
      const found = at === bytes ? hash.digest("hex") : undefined;
      if (sha256 === undefined || found === undefined || found === sha256) return;
      throw invalid(`their SHA-256 is ${found} and not ${sha256}`);
    } finally {
      done();
    }
  }
  return {
    bytes,
    read(start, end) {
      const before = earlier;
      let done = () => {};
      earlier = new Promise((resolve) => {
        done = resolve;
      });
      return readInTurn(before, start, end, done);
    },
    async drain() {
      while ((await pieces.next()).done !== true);
    },
  };
}

/** Reads a part into one buffer, which is the content's own if it arrives as one piece. It may not be changed. */
export async function readPart(content: MediaContent, start: number, end: number): Promise<Buffer> {
  const bytes = end - start;
  let part: Buffer = NOTHING;
  let at = 0;
  for await (const piece of content.read(start, end)) {
    const from = at;
    at += piece.length;
    if (at > bytes) break;
    if (piece.length === bytes) part = Buffer.from(piece.buffer, piece.byteOffset, bytes);
    else {
      if (part.length === 0) part = Buffer.allocUnsafe(bytes);
      part.set(piece, from);
    }
  }
  if (at !== bytes) throw new Error(`A part of media from ${start} to ${end} has ${at} bytes.`);
  return part;
}

export function readWhole(content: MediaContent): Promise<Buffer> {
  return readPart(content, 0, content.bytes);
}

/** Sends an object in parts, a few at once; gives what `send` gave, in order. The first failure ends it after the parts under way. */
export async function sendParts<T>(
  content: MediaContent,
  partBytes: number,
  send: (start: number, end: number, index: number) => Promise<T>,
): Promise<T[]> {
  const count = Math.ceil(content.bytes / partBytes);
  const sent: T[] = [];
  let next = 0;
  let failed = false;
  const lane = async () => {
    while (next < count && !failed) {
      const index = next++;
      const start = index * partBytes;
      try {
        sent[index] = await send(start, Math.min(start + partBytes, content.bytes), index);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: PARTS_AT_ONCE }, lane));
  const refused = lanes.find((lane) => lane.status === "rejected");
  if (refused !== undefined) throw refused.reason;
  return sent;
}

async function* noBytes(): AsyncGenerator<Uint8Array> {}
