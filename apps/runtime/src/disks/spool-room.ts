import { appError } from "@appdb/contract/errors";
import type { Spool } from "@appdb/engine/ports";
import { createFileSpool, MEMORY_BYTES } from "@appdb/system/files/file-spool";

/** Where bodies and responses of a database wait. */
export interface SpoolPlace {
  readonly folder: string;
  readonly uri: string;
  /** Bytes that may still be written to the disk of the database, without those of its spools (`bytes`). */
  room(): Promise<number>;
}

/**
 * The spools of a database. Their files have no name, so nothing that measures the folder counts them: the spools count
 * their bytes themselves, and every other writer has the room without them.
 */
export class SpoolRoom {
  readonly #place: SpoolPlace;
  #bytes = 0;

  constructor(place: SpoolPlace) {
    this.#place = place;
  }

  /** Bytes in files. */
  get bytes(): number {
    return this.#bytes;
  }

  open(): Spool {
    const { folder, room, uri } = this.#place;
    const spool = createFileSpool(folder);
    let inFile = 0;
    const count = (bytes: number) => {
      this.#bytes += bytes - inFile;
      inFile = bytes;
    };
    return {
      get bytes() {
        return spool.bytes;
      },
      /** @throws disk_full */
      write: async (piece) => {
        const bytes = spool.bytes + (typeof piece === "string" ? Buffer.byteLength(piece) : piece.length);
        // less stays in memory
        if (bytes >= MEMORY_BYTES) {
          // counted before it is awaited, so that no two are promised the same room
          count(bytes);
          if ((await room()) < 0) throw noRoom(uri, this.#bytes);
        }
        await spool.write(piece);
      },
      read: () => spool.read(),
      [Symbol.asyncDispose]: async () => {
        await spool[Symbol.asyncDispose]();
        count(0);
      },
    };
  }
}

function noRoom(uri: string, bytes: number): Error {
  return appError("disk_full", {
    detail: `The disk of the database ${uri} has no room for ${bytes} bytes of bodies and responses that wait. Nothing was stored.`,
    hint: "Raise disk_gb of its entry in service.toml, or send fewer rows per request.",
    meta: { bytes },
  });
}
