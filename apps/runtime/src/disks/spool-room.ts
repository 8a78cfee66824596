import { appError } from "@appdb/contract/errors";
import type { Spool } from "@appdb/engine/ports";
import { createFileSpool, MEMORY_BYTES } from "@appdb/system/files/file-spool";

/** Where bodies and responses of a database wait. */
export interface SpoolPlace {
  readonly folder: string;
  readonly uri: string;
  /** Bytes that may still be written to the disk of the database. */
  room(): Promise<number>;
}

/**
 * Opens the spools of a database. The files have no name, so nothing that measures the folder counts them: the spools
 * count their bytes themselves, and have the room of the disk together.
 */
export function createSpoolRoom({ folder, room, uri }: SpoolPlace): () => Spool {
  let waiting = 0;
  return () => {
    const spool = createFileSpool(folder);
    let counted = 0;
    return {
      get bytes() {
        return spool.bytes;
      },
      /** @throws disk_full */
      write: async (piece) => {
        const bytes = typeof piece === "string" ? Buffer.byteLength(piece) : piece.length;
        counted += bytes;
        waiting += bytes;
        // less stays in memory
        if (counted > MEMORY_BYTES && waiting > (await room())) throw noRoom(uri, waiting);
        await spool.write(piece);
      },
      read: () => spool.read(),
      [Symbol.asyncDispose]: async () => {
        waiting -= counted;
        counted = 0;
        await spool[Symbol.asyncDispose]();
      },
    };
  };
}

function noRoom(uri: string, bytes: number): Error {
  return appError("disk_full", {
    detail: `The disk of the database ${uri} has no room for ${bytes} bytes of bodies and responses that wait. Nothing was stored.`,
    hint: "Raise disk_gb of its entry in service.toml, or send fewer rows per request.",
    meta: { bytes },
  });
}
