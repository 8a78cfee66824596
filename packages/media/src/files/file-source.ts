import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { bytesContent, fileContent } from "../stores/content.ts";
import type { MediaContent } from "../stores/media-store.ts";
import { SNIFFED_BYTES } from "./sniff-type.ts";

const READ_BYTES = 1 << 20;

/** The path of a file that a store may take, or the bytes of a small one. */
export type Source = string | Uint8Array;

/** The content for a store, which may take the file itself. `bytes`: its length, if known. */
export async function contentOf(source: Source, bytes?: number): Promise<MediaContent> {
  return typeof source === "string"
    ? { ...(await fileContent(source, bytes)), is_movable: true }
    : bytesContent(source);
}

/** SHA-256, hex. @throws the reason of an aborted signal */
export async function hashOf(source: Source, signal: AbortSignal | undefined): Promise<string> {
  const hash = createHash("sha256");
  if (typeof source !== "string") return hash.update(source).digest("hex");
  const ended = signal === undefined ? {} : { signal };
  for await (const piece of createReadStream(source, { highWaterMark: READ_BYTES, ...ended }))
    hash.update(piece as Buffer);
  return hash.digest("hex");
}

/** The first bytes, which tell the type. */
export async function headOf(source: Source): Promise<Uint8Array> {
  return typeof source === "string" ? await readHead(source) : source.subarray(0, SNIFFED_BYTES);
}

export async function readHead(path: string): Promise<Buffer> {
  await using file = await open(path, "r");
  const { buffer, bytesRead } = await file.read(Buffer.alloc(SNIFFED_BYTES), 0, SNIFFED_BYTES, 0);
  return buffer.subarray(0, bytesRead);
}
