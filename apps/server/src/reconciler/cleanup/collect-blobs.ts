import { sql } from "kysely";
import { mapBounded } from "../core/map-bounded.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { isStale } from "./unused.ts";

/** Rows locked at a time. An upload of one of these blobs waits. */
const BATCH = 200;
const AT_ONCE = 8;
/** Longer than any upload: older drafts belong to a killed server. */
const DRAFT_MS = 86_400_000;

/** Announced by an upload that was killed before it was complete. */
const isAbandoned = sql<boolean>`(not is_stored and used_at < now() - make_interval(secs => ${sql.lit(DRAFT_MS / 1_000)}))`;

/**
 * Removes blobs that no tree names and that were not used lately. Returns how many. A request for a blob counts as a
 * use, so that an existing blob stays for `UNUSED_DAYS`. Row and bytes go in one transaction: a concurrent upload of
 * the same blob waits for the row, then stores it again (`uploadBlobs`).
 */
export async function collectBlobs({ blobs, db }: Pick<ReconcileDeps, "blobs" | "db">): Promise<number> {
  await blobs.clean(new Date(Date.now() - DRAFT_MS));
  const { rows } = await sql<{ org_id: string; digest: string }>`
    with used as materialized (
      select distinct t.org_id, chunk.digest from control.trees t,
        jsonb_array_elements(t.entries) entry, jsonb_array_elements_text(entry -> 'chunks') chunk (digest))
    select b.org_id, b.digest from control.blobs b
    where ${isAbandoned} or (${isStale} and not exists (select from used u where u.org_id = b.org_id and u.digest = b.digest))`.execute(
    db,
  );
  let removed = 0;
  const turns = interleaveByOrganization(rows);
  for (let at = 0; at < turns.length; at += BATCH) {
    const batch = turns.slice(at, at + BATCH);
    await db.transaction().execute(async (tx) => {
      // a newer tree has marked each of its blobs as used
      const deleted = await sql<{
        org_id: string;
        digest: string;
      }>`delete from control.blobs where (org_id, digest) in (
        select b.org_id, b.digest from control.blobs b
        join unnest(${batch.map(({ org_id: orgId }) => orgId)}::uuid[], ${batch.map(({ digest }) => digest)}::text[]) old (org_id, digest)
          on b.org_id = old.org_id and b.digest = old.digest
        where (${isStale} or ${isAbandoned}) for update of b skip locked) returning org_id, digest`.execute(tx);
      await mapBounded(deleted.rows, AT_ONCE, async ({ org_id: orgId, digest }) => blobs.delete(orgId, digest));
      removed += deleted.rows.length;
    });
  }
  return removed;
}

/** Interleaves organizations, so that none waits for all blobs of another. */
export function interleaveByOrganization<Row extends { readonly org_id: string }>(rows: readonly Row[]): Row[] {
  const counts = new Map<string, number>();
  const ranked = rows.map((row) => {
    const rank = counts.get(row.org_id) ?? 0;
    counts.set(row.org_id, rank + 1);
    return { row, rank };
  });
  return ranked.sort((a, b) => a.rank - b.rank).map(({ row }) => row);
}
