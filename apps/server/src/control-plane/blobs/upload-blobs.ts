import type { BlobStore } from "@appdb/adapters/blobs/blob-store";
import { appError } from "@appdb/contract/errors";
import type { Database } from "../../database/pool.ts";
import { readBlobs, type SentBlob } from "./read-blobs.ts";
import { countBytes, recordBlobs } from "./store.ts";

/** Blobs that are being written at a time: most of the time goes by waiting for the disk. */
const AT_ONCE = 8;
/** Rows that one statement writes, and bytes that are held until it has. */
const BATCH = 64;
const BATCH_BYTES = 16 * 1024 * 1024;

export interface UploadDeps {
  readonly db: Database;
  readonly blobs: BlobStore;
  /** What all blobs of an organization may have together. */
  readonly most_bytes: number;
  /** Asked before rows are written: an upload takes its time, and its caller may have lost their right. It throws then. */
  recheck(): Promise<unknown>;
}

/**
 * Stores the blobs of a tar stream. Each one that came whole stays, whatever becomes of the rest: the next upload sends what is
 * missing then.
 * @throws blob_invalid, invalid_encoding, payload_too_large, disk_full
 */
export async function uploadBlobs(
  deps: UploadDeps,
  org_id: string,
  source: AsyncIterable<Uint8Array>,
  encoding: string | undefined,
): Promise<{ stored: number; bytes: number }> {
  const { db, blobs } = deps;
  const total = { stored: 0, bytes: 0 };
  let room = deps.most_bytes - (await countBytes(db, org_id));
  const written: SentBlob[] = [];
  let written_bytes = 0;
  const writing = new Set<Promise<void>>();
  let failure: { readonly error: unknown } | undefined;
  const record = async () => {
    const batch = written.splice(0);
    written_bytes = 0;
    await deps.recheck();
    const rows = batch.map(({ digest, bytes }) => ({ digest, bytes: bytes.length }));
    await recordBlobs(db, org_id, rows);
    // a former one may have been collected until its row was written anew; from now on none is
    for (const { digest, bytes } of batch) {
      if (!(await blobs.has(org_id, digest))) await blobs.put(org_id, digest, [bytes]);
    }
    total.stored += batch.length;
    total.bytes += rows.reduce((sum, { bytes }) => sum + bytes, 0);
  };
  const write = async ({ digest, bytes }: SentBlob) => {
    try {
      await blobs.put(org_id, digest, [bytes]);
      written.push({ digest, bytes });
      written_bytes += bytes.length;
    } catch (error) {
      failure ??= { error };
    }
  };
  try {
    for await (const blob of readBlobs(source, encoding)) {
      room -= blob.bytes.length;
      if (room < 0) throw full(deps.most_bytes);
      const one: Promise<void> = write(blob).finally(() => writing.delete(one));
      writing.add(one);
      if (writing.size === AT_ONCE) await Promise.race(writing);
      if (failure !== undefined) throw failure.error;
      if (written.length >= BATCH || written_bytes >= BATCH_BYTES) await record();
    }
  } finally {
    await Promise.all(writing);
    await record();
  }
  if (failure !== undefined) throw failure.error;
  return total;
}

function full(most_bytes: number): Error {
  return appError("payload_too_large", {
    detail: `The files that the organization has uploaded would have more than ${most_bytes} bytes together.`,
    hint: "Leave large files out by exclude in service.toml; what no database uses any more goes by itself after a week.",
    meta: { most_bytes },
  });
}
