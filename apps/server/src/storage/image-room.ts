import { sql } from "kysely";
import type { StorageBounds } from "../config/config-quotas.ts";
import type { ControlDatabase } from "../database/pool.ts";
import { lockStorageUse, storageFull } from "./storage-use.ts";

/** Minimum for a build. Python's packages alone need part of it. */
const LEAST_BYTES = 256 * 1024 ** 2;
/** Share of the free quota for one build, because other builds and uploads run meanwhile. */
const SHARE = 0.5;
/** Longer than any build, so that the reservation of a killed server expires. */
const RESERVED = "2 hours";

/**
 * Reserves storage for an image build. Returns the bytes that it may write. The reservation ends when the image is
 * built or failed (`releaseImage`).
 * @throws storage_quota
 */
export async function reserveImage(
  db: ControlDatabase,
  bounds: StorageBounds,
  { hash, org_id: orgId }: { readonly org_id: string; readonly hash: string },
): Promise<number> {
  return await db.transaction().execute(async (tx) => {
    await sql`update control.images set reserved_bytes = 0, reserved_until = null
      where org_id = ${orgId} and hash = ${hash}`.execute(tx);
    const uses = await lockStorageUse(tx, orgId);
    const freeBytes = bounds.max_bytes - uses.total.bytes;
    const granted = Math.floor(freeBytes * SHARE);
    if (granted < LEAST_BYTES || uses.total.files > bounds.max_files) {
      throw storageFull(uses, bounds, `The image, whose build needs at least ${LEAST_BYTES / 1024 ** 2} MB,`);
    }
    await sql`update control.images set reserved_bytes = ${granted}, reserved_until = now() + ${RESERVED}::interval
      where org_id = ${orgId} and hash = ${hash}`.execute(tx);
    return granted;
  });
}

/** Releases the reservation of an image. */
export async function releaseImage(
  db: ControlDatabase,
  { hash, org_id: orgId }: { readonly org_id: string; readonly hash: string },
): Promise<void> {
  await sql`update control.images set reserved_bytes = 0, reserved_until = null
    where org_id = ${orgId} and hash = ${hash}`.execute(db);
}
