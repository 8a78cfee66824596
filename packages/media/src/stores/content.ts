import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { MediaContent } from "./media-store.ts";

/** Parts of one object on their way at once: memory of a put is so many parts. */
const PARTS_AT_ONCE = 3;
const READ_BYTES = 1 << 20;

/** A file of this machine that does not change. */
export async function fileContent(path: string): Promise<MediaContent> {
  const { size } = await stat(path);
  return {
    bytes: size,
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

export async function readPart(content: MediaContent, start: number, end: number): Promise<Buffer> {
  const part = Buffer.allocUnsafe(end - start);
  let at = 0;
  for await (const piece of content.read(start, end)) {
    if (at + piece.length > part.length) break;
    part.set(piece, at);
    at += piece.length;
  }
  if (at !== part.length) throw new Error(`A part of media from ${start} to ${end} has ${at} bytes.`);
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
