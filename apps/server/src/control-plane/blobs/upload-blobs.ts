import { appError } from "@appdb/contract/errors";
import type { BlobStore } from "@appdb/system/blobs/blob-store";
import type { ServerConfig } from "../../config/config.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import { announceBlobs, deleteAnnouncements, recordBlobs } from "../../storage/blob-store.ts";
import { requireDiskSpace } from "../../storage/disk-floor.ts";
import { readBlobs, type SentBlob } from "../../storage/read-blobs.ts";
import { requireStorageQuota } from "../../storage/storage-use.ts";

/** Blobs written concurrently: each write mostly waits for the disk. */
const AT_ONCE = 8;
/** Maximum blobs and bytes that one transaction records. They stay in memory until they are stored. */
const BATCH = 256;
const BATCH_BYTES = 16 * 1024 * 1024;

export interface UploadDeps {
  readonly db: ControlDatabase;
  readonly blobs: BlobStore;
  readonly config: Pick<ServerConfig, "home" | "pods" | "quotas">;
  /** Called before rows are written: the caller may have lost their permission during the upload. Throws then. */
  recheck(): Promise<unknown>;
}

/**
 * Stores the blobs of a tar stream. Complete blobs stay if the upload fails, so the next one sends only the rest. Blobs
 * count towards the organization's storage before they are written.
 * @throws blob_invalid, invalid_encoding, payload_too_large, storage_quota, disk_full
 */
export async function uploadBlobs(
  deps: UploadDeps,
  orgId: string,
  source: AsyncIterable<Uint8Array>,
  encoding: string | undefined,
): Promise<{ stored: number; bytes: number }> {
  const total = { stored: 0, bytes: 0 };
  let waiting: SentBlob[] = [];
  let waitingBytes = 0;
  let storing: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;
  // blobs that arrive while a batch is stored form the next batch
  const store = (): void => {
    if (storing !== undefined || failure !== undefined || waiting.length === 0) return;
    const batch = waiting;
    waiting = [];
    waitingBytes = 0;
    storing = storeBatch(deps, orgId, batch, total)
      .catch((error: unknown) => {
        failure = { error };
      })
      .finally(() => {
        storing = undefined;
        store();
      });
  };
  try {
    for await (const blob of readBlobs(source, encoding)) {
      waiting.push(blob);
      waitingBytes += blob.bytes.length;
      store();
      while (storing !== undefined && (waiting.length >= BATCH || waitingBytes >= BATCH_BYTES)) await storing;
      if (failure !== undefined) break;
    }
  } finally {
    while (storing !== undefined) await storing;
  }
  if (failure !== undefined) throw (failure as { readonly error: unknown }).error;
  await deps.recheck();
  return total;
}

/** Reserves, writes and records a batch. Releases the reservation of blobs that could not be written. */
async function storeBatch(
  deps: UploadDeps,
  orgId: string,
  batch: readonly SentBlob[],
  total: { stored: number; bytes: number },
): Promise<void> {
  const { blobs, db } = deps;
  const sent = [...new Map(batch.map((blob) => [blob.digest, blob])).values()];
  await deps.recheck();
  await requireDiskSpace(deps);
  await reserve(deps, orgId, sent);
  const stored: { digest: string; bytes: number }[] = [];
  const failures: { readonly digest: string; readonly error: unknown }[] = [];
  const pending = [...sent];
  const lane = async () => {
    for (let blob = pending.shift(); blob !== undefined; blob = pending.shift()) {
      const { bytes, digest } = blob;
      try {
        await blobs.put(orgId, digest, [bytes]);
        stored.push({ digest, bytes: bytes.length });
      } catch (error) {
        failures.push({ digest, error });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, pending.length) }, lane));
  await recordBlobs(db, orgId, stored);
  total.stored += stored.length;
  total.bytes += stored.reduce((sum, { bytes }) => sum + bytes, 0);
  const [first] = failures;
  if (first === undefined) return;
  await deleteAnnouncements(
    db,
    orgId,
    failures.map(({ digest }) => digest),
  );
  throw first.error;
}

/** @throws payload_too_large, storage_quota */
async function reserve({ config, db }: UploadDeps, orgId: string, sent: readonly SentBlob[]): Promise<void> {
  const named = sent.map(({ bytes, digest }) => ({ digest, bytes: bytes.length }));
  const { max_upload_bytes: mostUploadBytes } = config.pods;
  await db.transaction().execute(async (tx) => {
    await announceBlobs(tx, orgId, named);
    const { uploads } = await requireStorageQuota(tx, orgId, config.quotas.storage, "The upload");
    if (uploads.bytes > mostUploadBytes) throw uploadTooLarge(mostUploadBytes, uploads);
  });
}

function uploadTooLarge(maxBytes: number, { bytes, files }: { readonly bytes: number; readonly files: number }): Error {
  return appError("payload_too_large", {
    detail: `The uploaded files of the organization would take ${bytes} bytes in ${files} pieces; the maximum is ${maxBytes} (SERVICE_MAX_UPLOADS_GB).`,
    hint: "Leave out large files with exclude in service.toml. Files that no database uses are removed after a week.",
    meta: { bytes, most_bytes: maxBytes },
  });
}
