import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "@appdb/engine/ports";
import { writePrivateFile } from "@appdb/system/processes/private-files";
import { sql } from "kysely";
import type pg from "pg";
import { SERVER_PATHS } from "../config/config.ts";
import { stopSuspended } from "../control-plane/organizations/suspend-organization.ts";
import { forgetPreparations } from "../control-plane/preparations/preparations.ts";
import { deliverWebhooks } from "../control-plane/webhooks/deliver.ts";
import { findDueOrganizations, forgetDeliveries } from "../control-plane/webhooks/due-deliveries.ts";
import { createOutageLog } from "../database/outage-log.ts";
import type { ControlDatabase } from "../database/pool.ts";
import type { HealthProblem } from "../health/problems.ts";
import { stopEach } from "../lifecycle/stop-each.ts";
import type { HostRuntime } from "../pods/host-runtime.ts";
import { recordIsolation } from "../pods/isolation.ts";
import { enqueueDeliveries, enqueueJob, rescheduleFutureJobs } from "../queue/jobs.ts";
import { openLease, releaseOrphanedJobs } from "../queue/lease.ts";
import { repeatJobs } from "../queue/repeat-jobs.ts";
import { AT_ONCE } from "../queue/shares.ts";
import { runWorkers, type Tasks, type WorkerPool } from "../queue/worker-pool.ts";
import { cleanIdempotency } from "../requests/idempotency.ts";
import { collectBlobs } from "./cleanup/collect-blobs.ts";
import { collectTrees } from "./cleanup/collect-trees.ts";
import { collectUnusedImages } from "./cleanup/collect-unused-images.ts";
import { retryAtOnce } from "./core/failures.ts";
import type { ReconcileDeps } from "./core/reconcile-deps.ts";
import { buildImage } from "./databases/build-image.ts";
import { monitorDatabases } from "./databases/monitor-databases.ts";
import { moveAllFormerStorage } from "./databases/move-former-storage.ts";
import { reconcileDatabase } from "./databases/reconcile-database.ts";
import {
  endAllPods,
  endOrphans,
  findUnfinished,
  markMissingDatabasesLost,
  markPodsEnded,
  removeOrphanStorage,
} from "./databases/resume-databases.ts";
import { prepareImage } from "./images/prepare-image.ts";
import { findMissingMains, provisionMain } from "./provision-main.ts";
import { reconcileService } from "./services/reconcile-service.ts";
import { findUnfinishedServices, markMissingServicesLost, removeOrphanServices } from "./services/resume-services.ts";
import { ServiceKeys } from "./services/service-keys.ts";

/**
 * Claims the control plane's pods for this home. They run on one machine. Returns false and logs it if another home has
 * them; this reconciler must then leave databases alone.
 */
export async function claimPodsHome(
  { db, log }: { readonly db: ControlDatabase; readonly log: Logger },
  home: string,
): Promise<boolean> {
  const ownId = openHomeId(home);
  await db
    .insertInto("control.pods_home")
    .values({ home_id: ownId })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { home_id: homeId, claimed_at: claimedAt } = await db
    .selectFrom("control.pods_home")
    .select(["home_id", "claimed_at"])
    .executeTakeFirstOrThrow();
  if (homeId === ownId) return true;
  log.error(
    { home, home_id: ownId, other_home_id: homeId, claimed_at: claimedAt },
    "this reconciler leaves databases alone: their pods belong to another home, on the machine that first started them",
  );
  return false;
}

/** Reads or creates the home's permanent id. A copy of the home has the same id. */
function openHomeId(home: string): string {
  const path = join(home, SERVER_PATHS.homeId);
  if (existsSync(path)) return readFileSync(path, "utf8").trim();
  const homeId = randomUUID();
  writePrivateFile(path, `${homeId}\n`);
  return homeId;
}

const LINES = "30 days";

/** Removes unused images, project files, blobs and storage, and old lines of operations. */
async function collect(deps: ReconcileDeps): Promise<void> {
  const images = await collectUnusedImages(deps);
  const trees = await collectTrees(deps);
  const blobs = await collectBlobs(deps);
  await forgetPreparations(deps.db);
  await forgetDeliveries(deps.db);
  const databases = await removeOrphanStorage(deps);
  const services = await removeOrphanServices(deps);
  await sql`with old as (select id from control.operations where line_bytes > 0 and ended_at < now() - ${LINES}::interval),
    gone as (delete from control.operation_lines where operation_id in (select id from old))
    update control.operations set line_bytes = 0 where id in (select id from old)`.execute(deps.db);
  if (images + trees + blobs + databases + services > 0) {
    deps.log.info({ images, trees, blobs, databases, services }, "unused data was removed");
  }
}

const LOOK_FOR_DEAD_MS = 2_000;
const OTHER_HOME =
  "This server leaves databases alone: their pods belong to another home (server/home-id). Its log has both names.";

export interface ReconcilerDeps extends Omit<ReconcileDeps, "machine" | "service_keys"> {
  /** Options of the server's pool, for the lease's connection. */
  readonly pool_options: pg.PoolConfig;
  /** Whether webhooks may have addresses of this machine or a private network. */
  readonly allow_private: boolean;
  /** The machine's facilities for pods. If absent, databases are left alone. */
  readonly machine?: HostRuntime | undefined;
}

export interface Reconciler extends AsyncDisposable {
  problems(): readonly HealthProblem[];
  /** Waits for running jobs, then ends all pods unless they are to be kept. */
  stop(pods: "keep pods" | "end pods"): Promise<void>;
}

/**
 * Carries out requests until it is stopped. Disposal keeps the pods. Resolves when databases that lost their pods while
 * no reconciler worked are marked as lost.
 */
export async function startReconciler(deps: ReconcilerDeps): Promise<Reconciler> {
  const { db, log } = deps;
  const lease = await openLease(deps.pool_options, log);
  const look = async () => {
    const freed = await releaseOrphanedJobs(db, lease);
    if (freed > 0) log.warn({ jobs: freed }, "jobs of dead processes were freed");
    const late = await rescheduleFutureJobs(db);
    if (late > 0) log.warn({ jobs: late }, "jobs that waited too long are due now: the clock was set back");
  };
  await look();
  const databases = await takeDatabases(deps);
  const watch = databases === undefined ? undefined : await resume(databases);
  const enqueue = (name: "sweep" | "collect") => enqueueJob(db, name, {}, { key: name });
  const repeating = await repeatJobs({ log, enqueue });
  const outage = createOutageLog(log);
  const timer = setInterval(() => {
    look().then(outage.worked, (error) => outage.failed(error, "could not free jobs of dead processes"));
  }, LOOK_FOR_DEAD_MS);
  const stopping = new AbortController();
  const workers = { db, lease, log, notifications: deps.notifications };
  const working = toPools(deps, databases).map((pool) => runWorkers(workers, pool, stopping.signal));
  let stopped: Promise<void> | undefined;
  const stop = async (pods: "keep pods" | "end pods") => {
    clearInterval(timer);
    repeating[Symbol.dispose]();
    stopping.abort(new Error("The server is stopping."));
    await stopEach(log, {
      watch: () => watch?.[Symbol.asyncDispose](),
      workers: () => Promise.all(working),
      lease: () => lease[Symbol.asyncDispose](),
      keys: () => databases?.service_keys[Symbol.asyncDispose](),
      pods: () => (databases !== undefined && pods === "end pods" ? endAllPods(databases) : undefined),
    });
  };
  const leavesDatabases = deps.machine !== undefined && databases === undefined;
  return {
    problems: () => (leavesDatabases ? [{ code: "home_unknown", what: OTHER_HOME }] : []),
    stop: (pods) => (stopped ??= stop(pods)),
    [Symbol.asyncDispose]: () => (stopped ??= stop("keep pods")),
  };
}

/** Undefined if this reconciler manages no databases. */
async function takeDatabases(deps: ReconcilerDeps): Promise<ReconcileDeps | undefined> {
  const { machine } = deps;
  if (machine === undefined || !(await claimPodsHome(deps, machine.paths.home))) return undefined;
  if (machine.driver.isolates) await recordIsolation(deps.db);
  return { ...deps, machine, service_keys: new ServiceKeys({ ...deps, machine }) };
}

/** Cleans up after the previous reconciler and continues its work. */
async function resume(deps: ReconcileDeps): Promise<AsyncDisposable> {
  deps.machine
    .ensureTemplate()
    .catch((error) => deps.log.warn({ err: error }, "could not prepare a cluster in advance"));
  await markPodsEnded(deps, await moveAllFormerStorage(deps));
  await retryAtOnce(deps.db);
  await sweep(deps, "at the start");
  return monitorDatabases(deps);
}

/** Ends orphaned pods, and continues after lost jobs and pods. */
async function sweep(deps: ReconcileDeps, when: "at the start" | "meanwhile"): Promise<void> {
  await endOrphans(deps);
  await markMissingDatabasesLost(deps, when);
  await markMissingServicesLost(deps, when);
  await stopSuspended(deps.db, deps.recordEvent);
  await findUnfinished(deps.db, when);
  await findUnfinishedServices(deps, when);
}

/** Each kind of work has its own workers, so that none waits for another kind. */
function toPools(deps: ReconcilerDeps, databases: ReconcileDeps | undefined): readonly WorkerPool[] {
  const webhooks: Tasks = {
    "deliver-webhooks": ({ org_id: orgId }, { signal }) => deliverWebhooks(deps, orgId, signal),
  };
  const upkeep: Tasks = {
    sweep: async () => {
      await findMissingMains(deps.db);
      await cleanIdempotency(deps.db);
      for (const orgId of await findDueOrganizations(deps.db)) await enqueueDeliveries(deps.db, orgId);
      if (databases !== undefined) await sweep(databases, "meanwhile");
    },
  };
  const quick: Tasks = {
    "provision-main": ({ org_id: orgId }) => provisionMain(deps, orgId),
  };
  const pools: readonly WorkerPool[] = [
    { tasks: webhooks, at_once: AT_ONCE.webhooks },
    { tasks: upkeep, at_once: AT_ONCE.upkeep },
    { tasks: quick, at_once: AT_ONCE.databases },
  ];
  if (databases === undefined) return pools;
  upkeep.collect = () => collect(databases);
  quick["reconcile-database"] = ({ database_id: id }, run) => reconcileDatabase(databases, { id, ...run });
  const services: Tasks = {
    "reconcile-service": ({ service_id: id }, run) => reconcileService(databases, { id, ...run }),
  };
  const builds: Tasks = {
    "build-image": ({ database_id: id }, run) => buildImage(databases, { id, ...run }),
    "prepare-image": ({ preparation_id: id }, run) => prepareImage(databases, { id, ...run }),
  };
  return [...pools, { tasks: services, at_once: AT_ONCE.services }, { tasks: builds, at_once: AT_ONCE.builds }];
}
