import { sql } from "kysely";
import type { ControlDatabase } from "../../database/pool.ts";
import { databasePod } from "../../pods/database-paths.ts";
import { parseServicePodId } from "../../pods/service-paths.ts";
import { enqueueReconcileDatabase, hasNoJob } from "../../queue/jobs.ts";
import { markMissingPodsLost } from "../core/lost-pods.ts";
import { mapBounded } from "../core/map-bounded.ts";
import { STOP_GRACE_MS } from "../core/pod-rows.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { endServicePod } from "../services/service-pods.ts";
import { markServicesStarting } from "../services/services-of-database.ts";
import { DATABASES } from "./database-resource.ts";
import { endPods } from "./stop-database.ts";

const STOPS_AT_ONCE = 8;
/** A database's volumes may be there before its row is in a snapshot. */
const YOUNG_MS = 3_600_000;

/**
 * Adds a job for every database with pending work or due removal. At the start of a reconciler also for those with a
 * job, which may wait for the pause after a failure.
 */
export async function findUnfinished(db: ControlDatabase, when: "at the start" | "meanwhile"): Promise<number> {
  const hasNone = hasNoJob(["reconcile-database", "build-image"], sql`d.id`);
  const { rows } = await sql<{ id: string }>`
    select d.id from control.databases d
    where (d.state in ('PROVISIONING', 'UPDATING', 'STARTING', 'STOPPING') or d.purge_at <= now()
        or (d.state = 'FAILED' and d.retry_at <= now()) or exists (
        select from control.operations p where p.database_id = d.id and p.service_id is null and p.state in ('pending', 'running')))
      and ${when === "at the start" ? sql<boolean>`true` : hasNone}`.execute(db);
  for (const { id } of rows) await enqueueReconcileDatabase(db, id);
  return rows.length;
}

/** Ends pods that should not run: of databases and services that were deleted, or stopped while no reconciler ran. */
export async function endOrphans({ db, log, machine }: ReconcileDeps): Promise<number> {
  const pods = await machine.driver.list({});
  if (pods.length === 0) return 0;
  const rows = await db
    .selectFrom("control.databases")
    .select("id")
    .where("state", "not in", ["STOPPED", "FAILED"])
    .execute();
  const known = new Set(rows.map(({ id }) => id));
  const services = await db
    .selectFrom("control.services")
    .select("id")
    .where("state", "not in", ["STOPPED", "FAILED"])
    .execute();
  const knownServices = new Set(services.map(({ id }) => id));
  const orphans = pods.filter(({ id, labels }) => {
    const service = parseServicePodId(id);
    return !known.has(labels.database_id) || (service !== undefined && !knownServices.has(service.service_id));
  });
  await mapBounded(orphans, STOPS_AT_ONCE, async ({ id, labels, state }) => {
    if (state === "running") log.warn({ pod: id }, "an orphaned pod was ended");
    const service = parseServicePodId(id);
    if (service !== undefined) {
      const placed = { id: service.service_id, database_id: labels.database_id };
      return await endServicePod({ machine }, placed, service.instance);
    }
    await machine.driver.stop(id, STOP_GRACE_MS);
    await machine.driver.forget({ id, database_id: labels.database_id });
  });
  return orphans.length;
}

/** Marks databases without a running pod as lost. */
export async function markMissingDatabasesLost(
  deps: ReconcileDeps,
  when: "at the start" | "meanwhile",
): Promise<number> {
  const rows = await deps.db
    .selectFrom("control.databases")
    .select(["id", "generation"])
    .where("state", "=", "AVAILABLE")
    .execute();
  const podOf = (id: string) => databasePod(id).id;
  const serving = rows.map(({ generation, id }) => ({ id, generation, pod_id: podOf(id) }));
  return await markMissingPodsLost(DATABASES, deps, serving, { podOf: ({ row }) => podOf(row.id), when });
}

/** Removes the volumes of databases that are gone. */
export async function removeOrphanStorage({ db, log, machine }: ReconcileDeps): Promise<number> {
  const owners = await machine.driver.listOwners();
  const old = owners.filter(({ made_at: madeAt, service_id: serviceId }) => {
    return serviceId === null && madeAt.getTime() < Date.now() - YOUNG_MS;
  });
  const ids = new Set(old.map(({ database_id: databaseId }) => databaseId));
  if (ids.size === 0) return 0;
  const rows = await db
    .selectFrom("control.databases")
    .select("id")
    .where("id", "in", [...ids])
    .execute();
  for (const { id } of rows) ids.delete(id);
  for (const id of ids) {
    log.info({ db: id }, "what a database left behind was removed");
    await machine.driver.forgetDatabase(id);
  }
  return ids.size;
}

/** Ends all pods with the server. Their databases become STARTING, so that the next server starts them. */
export async function endAllPods(deps: ReconcileDeps): Promise<void> {
  const { log, machine } = deps;
  const pods = await machine.driver.list({});
  const ids = [...new Set(pods.map(({ labels }) => labels.database_id))];
  const ended: string[] = [];
  await mapBounded(ids, STOPS_AT_ONCE, async (id) => {
    // a failure for one database does not prevent ending the others' pods
    await endPods({ machine }, id).then(
      () => ended.push(id),
      (error) => log.error({ err: error, db: id }, "could not end the pods of a database with the server"),
    );
  });
  // the next start detects the missing pods
  await markStarting(deps, ended).catch((error) =>
    log.warn({ err: error }, "could not record that the pods were ended"),
  );
  if (pods.length > 0) log.info({ pods: pods.length }, "the pods were ended with the server");
}

/** Records that the server ended the pods of databases. They start again. */
export async function markPodsEnded({ db }: Pick<ReconcileDeps, "db">, ids: readonly string[]): Promise<void> {
  await markServicesStarting(db, ids);
  if (ids.length === 0) return;
  await db
    .updateTable("control.databases")
    .set({ state: "STARTING", awake_because: null })
    .where("state", "=", "AVAILABLE")
    .where("id", "in", ids)
    .execute();
}

async function markStarting({ db, machine }: ReconcileDeps, ended: readonly string[]): Promise<void> {
  await markPodsEnded({ db }, ended);
  // includes databases whose pod was still being prepared
  const beginning = await db
    .selectFrom("control.databases")
    .select("id")
    .where("state", "in", ["PROVISIONING", "STARTING", "UPDATING"])
    .execute();
  const prepared = beginning.map(({ id }) => id).filter((id) => !ended.includes(id));
  await mapBounded(prepared, STOPS_AT_ONCE, async (id) => endPods({ machine }, id));
}
