import { createHash } from "node:crypto";
import { Header } from "tar";

const BLOCK = 512;

export interface TarEntry {
  readonly path: string;
  readonly bytes?: Buffer;
  readonly type?: "File" | "Directory" | "SymbolicLink" | "Link" | "CharacterDevice" | "FIFO";
  readonly linkpath?: string;
  /** What the header says, where that is a lie. */
  readonly size?: number;
}

export const digestOf = (bytes: Buffer | string): string => createHash("sha256").update(bytes).digest("hex");

/** A tar archive, also one that no honest program writes. */
export function tarOf(entries: readonly TarEntry[]): Buffer {
  const blocks = entries.flatMap(({ path, bytes = Buffer.alloc(0), type = "File", linkpath, size }) => {
    const header = new Header({
      path,
      type,
      size: size ?? bytes.length,
      mode: 0o644,
      mtime: new Date(0),
      ...(linkpath === undefined ? {} : { linkpath }),
    });
    const block = Buffer.alloc(BLOCK);
    header.encode(block);
    return [block, bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

/** An archive of blobs as the command sends it. */
export function tarOfBlobs(blobs: readonly (Buffer | string)[]): Buffer {
  return tarOf(blobs.map((blob) => ({ path: digestOf(blob), bytes: Buffer.from(blob) })));
}
