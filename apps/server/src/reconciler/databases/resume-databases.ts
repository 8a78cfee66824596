import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { awaitIfExists } from "@appdb/system/files/read-if-exists";
import { sql } from "kysely";
import { SERVER_PATHS } from "../../config/config.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import { isUuid } from "../../database/uuid.ts";
import { databasePaths } from "../../pods/database-paths.ts";
import { parseServicePodId } from "../../pods/service-paths.ts";
import { enqueueReconcileDatabase, hasNoJob } from "../../queue/jobs.ts";
import { markMissingPodsLost } from "../core/lost-pods.ts";
import { mapBounded } from "../core/map-bounded.ts";
import { STOP_GRACE_MS } from "../core/pod-rows.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { endServicePod } from "../services/service-pods.ts";
import { leaveServicesStarting } from "../services/services-of-database.ts";
import { DATABASES } from "./database-resource.ts";
import { removeStorage } from "./remove-database.ts";
import { endPods } from "./stop-database.ts";

const STOPS_AT_ONCE = 8;
/** Folders that contain a folder for each database id. */
const STORAGE = [
  SERVER_PATHS.databases,
  SERVER_PATHS.movingDatabases,
  SERVER_PATHS.files,
  SERVER_PATHS.services,
] as const;
/** A database's folders may exist before its row is visible. */
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
    await machine.driver.forget(id);
  });
  return orphans.length;
}

/** Marks databases without a running pod as lost. */
export async function markMissingDatabasesLost(deps: ReconcileDeps): Promise<number> {
  const rows = await deps.db
    .selectFrom("control.databases")
    .select(["id", "generation"])
    .where("state", "=", "AVAILABLE")
    .execute();
  const podOf = (id: string) => databasePaths(deps.machine.place, id).pod_id;
  const serving = rows.map(({ generation, id }) => ({ id, generation, pod_id: podOf(id) }));
  return await markMissingPodsLost(DATABASES, deps, serving, ({ row }) => podOf(row.id));
}

/** Removes the storage of deleted databases from this machine. */
export async function removeOrphanStorage(deps: ReconcileDeps): Promise<number> {
  const { home } = deps.machine.place;
  const ids = new Set<string>();
  for (const place of STORAGE) {
    for (const id of await foldersIn(join(home, place))) ids.add(id);
  }
  if (ids.size === 0) return 0;
  const rows = await deps.db
    .selectFrom("control.databases")
    .select("id")
    .where("id", "in", [...ids])
    .execute();
  for (const { id } of rows) ids.delete(id);
  for (const id of ids) {
    deps.log.info({ db: id }, "the storage of a deleted database was removed");
    await removeStorage(deps, id);
  }
  return ids.size;
}

/** Names of folders that are ids and older than YOUNG_MS. */
async function foldersIn(folder: string): Promise<string[]> {
  const names = (await awaitIfExists(readdir(folder))) ?? [];
  const old: string[] = [];
  for (const name of names.filter(isUuid)) {
    const found = await awaitIfExists(lstat(join(folder, name)));
    if (found?.isDirectory() === true && found.birthtimeMs < Date.now() - YOUNG_MS) old.push(name);
  }
  return old;
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
  await leaveStarting(deps, ended).catch((error) =>
    log.warn({ err: error }, "could not record that the pods were ended"),
  );
  if (pods.length > 0) log.info({ pods: pods.length }, "the pods were ended with the server");
}

async function leaveStarting({ db, machine }: ReconcileDeps, ended: readonly string[]): Promise<void> {
  await leaveServicesStarting(db, ended);
  if (ended.length > 0) {
    await db
      .updateTable("control.databases")
      .set({ state: "STARTING", awake_because: null })
      .where("state", "=", "AVAILABLE")
      .where("id", "in", ended)
      .execute();
  }
  // includes databases whose pod was still being prepared
  const beginning = await db
    .selectFrom("control.databases")
    .select("id")
    .where("state", "in", ["PROVISIONING", "STARTING", "UPDATING"])
    .execute();
  const prepared = beginning.map(({ id }) => id).filter((id) => !ended.includes(id));
  await mapBounded(prepared, STOPS_AT_ONCE, async (id) => endPods({ machine }, id));
}
