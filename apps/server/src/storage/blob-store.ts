import { sql } from "kysely";
import type { ControlDatabase, Tx } from "../database/pool.ts";

/** A requested blob stays for a while, because an upload that uses it follows. */
const TOUCH_S = 3_600;

export interface NamedBlob {
  readonly digest: string;
  readonly bytes: number;
}

/** The digests that the organization has not uploaded. Protects the others from collection for a while. */
export async function findMissing(
  db: ControlDatabase | Tx,
  orgId: string,
  digests: readonly string[],
): Promise<string[]> {
  const sizes = await readSizes(db, orgId, digests);
  return [...new Set(digests)].filter((digest) => !sizes.has(digest));
}

/** The sizes of blobs that the organization has uploaded. Protects them from collection for a while. */
export async function readSizes(
  db: ControlDatabase | Tx,
  orgId: string,
  digests: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const unique = [...new Set(digests)];
  if (unique.length === 0) return new Map();
  const { rows } = await sql<{ digest: string; bytes: number; is_stale: boolean }>`
    select digest, bytes, used_at < now() - make_interval(secs => ${TOUCH_S}) as is_stale from control.blobs
    where org_id = ${orgId} and digest = any(${unique}) and is_stored`.execute(db);
  const sizes = new Map(rows.map(({ digest, bytes }) => [digest, bytes]));
  const stale = rows.filter(({ is_stale: isStale }) => isStale).map(({ digest }) => digest);
  if (stale.length > 0) {
    const touched = await sql<{ digest: string }>`
      update control.blobs set used_at = now() where org_id = ${orgId} and digest = any(${stale}) returning digest`.execute(
      db,
    );
    const kept = new Set(touched.rows.map(({ digest }) => digest));
    // a blob that was collected meanwhile is missing
    for (const digest of stale) if (!kept.has(digest)) sizes.delete(digest);
  }
  return sizes;
}

/** Records that blobs are stored. */
export async function recordBlobs(db: ControlDatabase | Tx, orgId: string, blobs: readonly NamedBlob[]): Promise<void> {
  if (blobs.length === 0) return;
  await sql`insert into control.blobs (org_id, digest, bytes)
    select distinct ${orgId}::uuid, sent.* from unnest(${blobs.map(({ digest }) => digest)}::text[], ${blobs.map(({ bytes }) => bytes)}::int[]) sent
    on conflict (org_id, digest) do update set used_at = now(), is_stored = true`.execute(db);
}

/** Records that blobs will be stored. Stored ones stay unchanged. */
export async function announceBlobs(tx: Tx, orgId: string, blobs: readonly NamedBlob[]): Promise<void> {
  await sql`insert into control.blobs (org_id, digest, bytes, is_stored)
    select ${orgId}::uuid, sent.*, false from unnest(${blobs.map(({ digest }) => digest)}::text[], ${blobs.map(({ bytes }) => bytes)}::int[]) sent
    order by 2
    on conflict (org_id, digest) do update set used_at = now()`.execute(tx);
}

/** Releases announced blobs that could not be stored. */
export async function deleteAnnouncements(
  db: ControlDatabase,
  orgId: string,
  digests: readonly string[],
): Promise<void> {
  if (digests.length === 0) return;
  await sql`delete from control.blobs where org_id = ${orgId} and digest = any(${digests}) and not is_stored`.execute(
    db,
  );
}
