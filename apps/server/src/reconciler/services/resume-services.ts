import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { awaitIfExists } from "@appdb/system/files/read-if-exists";
import { removeFolder } from "@appdb/system/files/remove-folder";
import { sql } from "kysely";
import type { ObservedService } from "../../database/service-tables.ts";
import { isUuid } from "../../database/uuid.ts";
import { parseServicePodId, servicePodId, servicesFolder } from "../../pods/service-paths.ts";
import { enqueueReconcileService, hasNoJob } from "../../queue/jobs.ts";
import { markMissingPodsLost } from "../core/lost-pods.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { SERVICES } from "./service-resource.ts";

/**
 * Adds a job for every service with pending work, without its pod, or with extra pods. At the start of a reconciler
 * also for those with a job, which may wait for the pause after a failure.
 */
export async function findUnfinishedServices(
  { db, machine }: Pick<ReconcileDeps, "db" | "machine">,
  when: "at the start" | "meanwhile",
): Promise<number> {
  const pods = await machine.driver.list({ kind: "service" });
  const counts = new Map<string, number>();
  for (const { id } of pods) {
    const { service_id: serviceId } = parseServicePodId(id) ?? {};
    if (serviceId !== undefined) counts.set(serviceId, (counts.get(serviceId) ?? 0) + 1);
  }
  const many = [...counts].filter(([, count]) => count > 1).map(([id]) => id);
  const hasNone = hasNoJob(["reconcile-service"], sql`s.id`);
  const { rows } = await sql<{ id: string }>`
    select s.id from control.services s join control.databases d on d.id = s.database_id
    where (s.state in ('DEPLOYING', 'UPDATING', 'STARTING', 'STOPPING') or s.is_pruned or s.id = any(${many}::uuid[])
        or (s.state = 'STOPPED' and d.state = 'AVAILABLE' and (s.desired ->> 'is_running')::boolean)
        or (s.state = 'FAILED' and d.state = 'AVAILABLE' and s.retry_at <= now())
        or exists (select from control.operations p where p.service_id = s.id and p.state in ('pending', 'running')))
      and ${when === "at the start" ? sql<boolean>`true` : hasNone}`.execute(db);
  for (const { id } of rows) await enqueueReconcileService(db, id);
  return rows.length;
}

/** Marks services without a running instance as lost. */
export async function markMissingServicesLost(deps: ReconcileDeps): Promise<number> {
  const rows = await deps.db
    .selectFrom("control.services")
    .select(["id", "generation", "observed"])
    .where("state", "in", ["AVAILABLE", "UPDATING"])
    .where("observed", "is not", null)
    .execute();
  const podOf = (id: string, observed: ObservedService | null) => servicePodId(id, observed?.instance ?? 0);
  const serving = rows.map(({ generation, id, observed }) => ({ id, generation, pod_id: podOf(id, observed) }));
  return await markMissingPodsLost(SERVICES, deps, serving, ({ row }) => podOf(row.id, row.observed));
}

/** Removes storage of deleted services from this machine. Returns the number of removed folders. */
export async function removeOrphanServices({ db, log, machine }: ReconcileDeps): Promise<number> {
  const databases = await db.selectFrom("control.databases").select("id").execute();
  let removed = 0;
  for (const { id: databaseId } of databases) {
    const folder = servicesFolder(machine.place, databaseId);
    const names = await ownFolders(folder);
    if (names.length === 0) continue;
    // the row exists before the folder
    const rows = await db.selectFrom("control.services").select("id").where("database_id", "=", databaseId).execute();
    const known = new Set(rows.map(({ id }) => id));
    for (const name of names.filter((one) => !known.has(one))) {
      log.info({ db: databaseId, service: name }, "the storage of a deleted service was removed");
      await removeFolder(join(folder, name));
      removed += 1;
    }
  }
  return removed;
}

/** Names of folders that are ids. Skips links and folders of other users, which are not the server's. */
async function ownFolders(folder: string): Promise<string[]> {
  if (!(await isOwnFolder(folder))) return [];
  const names = (await readdir(folder)).filter(isUuid);
  const areOwn = await Promise.all(names.map((name) => isOwnFolder(join(folder, name))));
  return names.filter((_, at) => areOwn[at]);
}

async function isOwnFolder(path: string): Promise<boolean> {
  const found = await awaitIfExists(lstat(path));
  return found?.isDirectory() === true && found.uid === (process.getuid?.() ?? found.uid);
}
