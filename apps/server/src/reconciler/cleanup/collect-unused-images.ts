import type { ImageUse } from "@appdb/python-runtime/images/collect-images";
import { sql } from "kysely";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { isNamed, isStale } from "./unused.ts";

/**
 * Removes images that no database names, and folders without a row: old images without a pod, remains of killed builds
 * and oversized caches. Returns how many.
 */
export async function collectUnusedImages(deps: Pick<ReconcileDeps, "db" | "machine">): Promise<number> {
  const { db, machine } = deps;
  await sql`update control.images i set used_at = now() where ${isNamed("environment", "i")}`.execute(db);
  const { rows } = await sql<Image>`select org_id, hash from control.images i
    where ${isStale} and not ${isNamed("environment", "i")}`.execute(db);
  let removed = 0;
  for (const row of rows) if (await removeImage(deps, row)) removed += 1;
  return removed + (await machine.collectImages(await readUse(deps)));
}

interface Image {
  readonly org_id: string;
  readonly hash: string;
}

/** Row and folder go in one transaction: a concurrent update waits, then builds the image again. */
async function removeImage({ db, machine }: Pick<ReconcileDeps, "db" | "machine">, image: Image): Promise<boolean> {
  return await db.transaction().execute(async (tx) => {
    const { rows } = await sql<Image>`delete from control.images where (org_id, hash) in (
      select i.org_id, i.hash from control.images i where i.org_id = ${image.org_id} and i.hash = ${image.hash}
        and ${isStale} and not ${isNamed("environment", "i")} for update skip locked) returning org_id, hash`.execute(
      tx,
    );
    if (rows.length > 0) await machine.removeImage(image.org_id, image.hash);
    return rows.length > 0;
  });
}

async function readUse({ db, machine }: Pick<ReconcileDeps, "db" | "machine">): Promise<ImageUse> {
  const pods = await machine.driver.list({});
  const rows = await db.selectFrom("control.images").select(["org_id", "hash"]).execute();
  const oldestPods = new Map<string, Date>();
  for (const { labels, started_at: startedAt, state } of pods) {
    const oldest = oldestPods.get(labels.organization_id);
    const started = new Date(startedAt);
    if (state === "running" && (oldest === undefined || started < oldest)) {
      oldestPods.set(labels.organization_id, started);
    }
  }
  return { desired: new Set(rows.map(({ org_id: orgId, hash }) => `${orgId}/${hash}`)), oldest_pods: oldestPods };
}
