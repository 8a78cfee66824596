import { sql } from "kysely";
import type { ObservedService } from "../../database/service-tables.ts";
import { parseServicePodId, servicePodId } from "../../pods/service-paths.ts";
import { enqueueReconcileService, hasNoJob } from "../../queue/jobs.ts";
import { markMissingPodsLost } from "../core/lost-pods.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { SERVICES } from "./service-resource.ts";

/**
 * Adds a job for every service with pending work, without its pod, or with extra pods or rows of pods. At the start of a reconciler
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
        or (s.state = 'AVAILABLE' and exists (select from control.pods p where p.database_id = d.id
          and p.id like 'svc-' || s.id || '-%' and p.id <> 'svc-' || s.id || '-' || (s.observed ->> 'instance')))
        or exists (select from control.operations p where p.service_id = s.id and p.state in ('pending', 'running')))
      and ${when === "at the start" ? sql<boolean>`true` : hasNone}`.execute(db);
  for (const { id } of rows) await enqueueReconcileService(db, id);
  return rows.length;
}

/** Marks services without a running instance as lost. */
export async function markMissingServicesLost(
  deps: ReconcileDeps,
  when: "at the start" | "meanwhile",
): Promise<number> {
  const rows = await deps.db
    .selectFrom("control.services")
    .select(["id", "generation", "observed"])
    .where("state", "in", ["AVAILABLE", "UPDATING"])
    .where("observed", "is not", null)
    .execute();
  const podOf = (id: string, observed: ObservedService | null) => servicePodId(id, observed?.instance ?? 0);
  const serving = rows.map(({ generation, id, observed }) => ({ id, generation, pod_id: podOf(id, observed) }));
  return await markMissingPodsLost(SERVICES, deps, serving, {
    podOf: ({ row }) => podOf(row.id, row.observed),
    when,
  });
}

/** Removes the volumes of services that are gone, of databases that are not. Answers of how many. */
export async function removeOrphanServices({ db, log, machine }: ReconcileDeps): Promise<number> {
  const owners = await machine.driver.listOwners();
  if (owners.every(({ service_id: serviceId }) => serviceId === null)) return 0;
  const databases = await db.selectFrom("control.databases").select("id").execute();
  // rows of services are there before their volumes are
  const services = await db.selectFrom("control.services").select("id").execute();
  const known = { databases: new Set(databases.map(({ id }) => id)), services: new Set(services.map(({ id }) => id)) };
  let removed = 0;
  for (const { database_id: databaseId, service_id: serviceId } of owners) {
    if (serviceId === null || known.services.has(serviceId) || !known.databases.has(databaseId)) continue;
    log.info({ db: databaseId, service: serviceId }, "what a service left behind was removed");
    await machine.driver.forgetService({ database_id: databaseId, service_id: serviceId });
    removed += 1;
  }
  return removed;
}
