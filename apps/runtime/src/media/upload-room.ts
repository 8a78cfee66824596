import { appError } from "@appdb/contract/errors";

/** A smaller upload is not checked: it fits into the reserve of the disk. */
const CHECKED_BYTES = 1 << 20;

/** Returns the pieces of an upload. @throws media_store_full before the first one */
export type AdmitUpload = (
  body: AsyncIterable<Uint8Array>,
  bytes: number | undefined,
) => AsyncIterable<Uint8Array, void, undefined>;

/**
 * Refuses uploads that the disk of the database has no room for, before they are read: otherwise they would fill the disk
 * for everyone until they are refused. `readRoom`: bytes that may be written, undefined for enough. Uploads of unknown
 * length pass.
 */
export function createUploadRoom(readRoom: () => Promise<number | undefined>, store: string): AdmitUpload {
  // bytes of admitted uploads that have not arrived
  let coming = 0;
  return async function* admit(body, bytes) {
    if (bytes === undefined || bytes < CHECKED_BYTES) return yield* body;
    const room = await readRoom();
    const left = room === undefined ? undefined : Math.max(0, room - coming);
    if (left !== undefined && bytes > left) throw noRoom(bytes, left, store);
    let missing = bytes;
    coming += missing;
    try {
      for await (const piece of body) {
        const arrived = Math.min(missing, piece.length);
        missing -= arrived;
        coming -= arrived;
        yield piece;
      }
    } finally {
      coming -= missing;
    }
  };
}

function noRoom(bytes: number, left: number, store: string): Error {
  return appError("media_store_full", {
    detail: `The upload has ${bytes} bytes, and the disk of the database has room for ${left}.`,
    hint: `Nothing was stored. Send a smaller file, raise disk_gb, or see what uses the disk: cli media du ${store}`,
    meta: { bytes, room_bytes: left, store },
  });
}
