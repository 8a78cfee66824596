import { sql } from "kysely";
import type { StorageBounds } from "../config/config-quotas.ts";
import type { ControlDatabase } from "../database/pool.ts";
import { lockStorageUse, storageFull } from "./storage-use.ts";

/** The least that a build is begun with: Python's packages alone take a part of it. */
const LEAST_BYTES = 256 * 1024 ** 2;
/** Of what is left, for one build: others of the organization, and uploads, go on meanwhile. */
const SHARE = 0.5;
/** Longer than any build takes: a reserve of a server that was killed ends then. */
const RESERVED = "2 hours";

/**
 * Reserves room for an image before it is built, and answers how many bytes its build may write. The reserve ends when the image is built or
 * failed (`releaseImage`).
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
    const left = bounds.most_bytes - uses.total.bytes;
    const granted = Math.floor(left * SHARE);
    if (granted < LEAST_BYTES || uses.total.files > bounds.most_files) {
      throw storageFull(uses, bounds, `The image, of which a build needs ${LEAST_BYTES / 1024 ** 2} MB at least,`);
    }
    await sql`update control.images set reserved_bytes = ${granted}, reserved_until = now() + ${RESERVED}::interval
      where org_id = ${orgId} and hash = ${hash}`.execute(tx);
    return granted;
  });
}

/** Gives back what is reserved for an image. */
export async function releaseImage(
  db: ControlDatabase,
  { hash, org_id: orgId }: { readonly org_id: string; readonly hash: string },
): Promise<void> {
  await sql`update control.images set reserved_bytes = 0, reserved_until = null
    where org_id = ${orgId} and hash = ${hash}`.execute(db);
}
