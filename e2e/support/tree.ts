import { createHash } from "node:crypto";
import type { TreeEntry } from "@appdb/contract/control/project-tree";
import { CHUNK_BYTES } from "@appdb/contract/control/project-tree";

const BLOCK = 512;

export function digestOf(bytes: string | Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A file entry of a tree. Large content is cut into chunks as the command does. */
export function fileEntry(path: string, content: string | Uint8Array): TreeEntry {
  const bytes = Buffer.from(content);
  return { path, size: bytes.length, is_executable: false, link: null, chunks: chunksOf(bytes).map(digestOf) };
}

export function linkEntry(path: string, link: string): TreeEntry {
  return { path, size: 0, is_executable: false, link, chunks: [] };
}

function chunksOf(bytes: Buffer): Buffer[] {
  const count = Math.ceil(bytes.length / CHUNK_BYTES);
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * CHUNK_BYTES, (at + 1) * CHUNK_BYTES));
}

/** A tar archive with one entry per blob, named by its digest. */
export function archiveOf(blobs: readonly (string | Uint8Array)[]): Buffer {
  const parts = blobs.flatMap((blob) => {
    const bytes = Buffer.from(blob);
    return [tarHeader(digestOf(bytes), bytes.length), bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

function tarHeader(name: string, size: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0);
  header.write("0000644\0", 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  header.write(`${size.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write("        ", 148);
  header.write("0", 156);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}
