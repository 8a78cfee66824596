import { createHash } from "node:crypto";
import { Header } from "tar";

const BLOCK = 512;

export interface TarEntry {
  readonly path: string;
  readonly bytes?: Buffer;
  readonly type?: "File" | "Directory" | "SymbolicLink" | "Link" | "CharacterDevice" | "FIFO";
  readonly linkpath?: string;
  /** The size in the header, if it is wrong. */
  readonly size?: number;
}

export const digestOf = (bytes: Buffer | string): string => createHash("sha256").update(bytes).digest("hex");

/** Creates a tar archive, also an invalid one. */
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

/** Creates an archive of blobs like the CLI. */
export function tarOfBlobs(blobs: readonly (Buffer | string)[]): Buffer {
  return tarOf(blobs.map((blob) => ({ path: digestOf(blob), bytes: Buffer.from(blob) })));
}
