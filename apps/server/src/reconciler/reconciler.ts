import type { TaskList } from "graphile-worker";
import pg from "pg";
import type * as z from "zod";
import { stopSuspended } from "../control-plane/organizations/suspend-organization.ts";
import { deliverWebhooks } from "../control-plane/webhooks/deliver.ts";
import { findDueOrganizations } from "../control-plane/webhooks/due-deliveries.ts";
import { hearLosses, sayError } from "../database/pool.ts";
import type { Problem } from "../health/problems.ts";
import { stopEach } from "../lifecycle/stop-each.ts";
import { keepIsolated } from "../pods/isolation.ts";
import type { Machine } from "../pods/machine.ts";
import { enqueueDeliveries, enqueueJob, hurryJobs, JOBS, type JobName } from "../queue/jobs.ts";
import { openLivingWorkers, unlockDeadWorkers } from "../queue/living-workers.ts";
import { repeatJobs } from "../queue/repeat-jobs.ts";
import { AT_ONCE } from "../queue/shares.ts";
import { type Crew, keepWorking } from "../queue/worker-pool.ts";
import { cleanIdempotency } from "../requests/idempotency.ts";
import { collect } from "./collect.ts";
import { retryAtOnce } from "./core/failures.ts";
import type { ReconcileDeps } from "./core/reconcile-deps.ts";
import { buildImage } from "./databases/build-image.ts";
import { monitorDatabases } from "./databases/monitor-databases.ts";
import { moveAllFormerStorage } from "./databases/move-former-storage.ts";
import { reconcileDatabase } from "./databases/reconcile-database.ts";
import { endAllPods, endOrphans, findUnfinished, markMissingDatabasesLost } from "./databases/resume-databases.ts";
import { prepareImage } from "./images/prepare-image.ts";
import { claimPodsHome } from "./pods-home.ts";
import { findMissingMains, provisionMain } from "./provision-main.ts";
import { reconcileService } from "./services/reconcile-service.ts";
import { findUnfinishedServices, markMissingServicesLost } from "./services/resume-services.ts";
import { ServiceKeys } from "./services/service-keys.ts";

/** Most workers wait for something else than PostgreSQL; each crew has one that listens. */
const CONNECTIONS = 40;
const LOOK_FOR_DEAD_MS = 2_000;
const OTHER_HOME =
  "This server leaves databases alone: their pods belong to another home (server/home-id). Its log has both names.";

export interface ReconcilerDeps extends Omit<ReconcileDeps, "machine" | "service_keys"> {
  /** Of the server's pool: the reconciler has one of its own. */
  readonly pool_options: pg.PoolConfig;
  /** Whether webhooks may be of this machine or a private network. */
  readonly allow_private: boolean;
  /** What pods run on; absent where none are to be run: databases are left alone. */
  readonly machine?: Machine | undefined;
}

export interface Reconciler extends AsyncDisposable {
  problems(): readonly Problem[];
  /** Ends the jobs that are under way, and with them all pods unless they are to go on without a server. */
  stop(pods: "keep pods" | "end pods"): Promise<void>;
}

/**
 * Works at what the control plane was told to do, until it is stopped; disposing of it keeps the pods. Resolves when databases whose
 * pods ended while nobody worked are no longer said to be AVAILABLE.
 */
export async function startReconciler(deps: ReconcilerDeps): Promise<Reconciler> {
  const { db, log } = deps;
  const pool = new pg.Pool({ ...deps.pool_options, max: CONNECTIONS, application_name: "appdb reconciler" });
  hearLosses(pool, log);
  const living = await openLivingWorkers(deps.pool_options, log);
  const look = async () => {
    const dead = await unlockDeadWorkers(db);
    if (dead > 0) log.warn({ workers: dead }, "jobs of workers that died were freed");
    const late = await hurryJobs(db);
    if (late > 0) log.warn({ jobs: late }, "jobs that the clock had put off were made due: it was set back");
  };
  await look();
  const databases = await takeDatabases(deps);
  const watch = databases === undefined ? undefined : await resume(databases);
  const enqueue = (name: "sweep" | "collect") => enqueueJob(db, name, {}, { job_key: name, queue: name });
  const repeating = await repeatJobs({ log, enqueue });
  const timer = setInterval(() => {
    look().catch((error) => log.warn(sayError(error), "jobs of workers that died were not looked for"));
  }, LOOK_FOR_DEAD_MS);
  const stopping = new AbortController();
  const crews = toCrews(deps, databases, stopping.signal);
  const working = crews.map((crew) => keepWorking({ pool, living, log }, crew, stopping.signal));
  let stopped: Promise<void> | undefined;
  const stop = async (pods: "keep pods" | "end pods") => {
    clearInterval(timer);
    repeating[Symbol.dispose]();
    stopping.abort(new Error("The server stops."));
    await stopEach(log, {
      watch: () => watch?.[Symbol.asyncDispose](),
      workers: () => Promise.all(working),
      locks: () => living[Symbol.asyncDispose](),
      connections: () => pool.end(),
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

/** Undefined when this reconciler has nothing to do with databases. */
async function takeDatabases(deps: ReconcilerDeps): Promise<ReconcileDeps | undefined> {
  const { machine } = deps;
  if (machine === undefined || !(await claimPodsHome(deps, machine.place.home))) return undefined;
  if (machine.driver.isolates) await keepIsolated(deps.db);
  return { ...deps, machine, service_keys: new ServiceKeys({ ...deps, machine }) };
}

/** Finds what was left by whoever worked before, and takes up what is to be done. */
async function resume(deps: ReconcileDeps): Promise<AsyncDisposable> {
  deps.machine.ensureTemplate().catch((error) => deps.log.warn({ err: error }, "no cluster was made ahead"));
  await moveAllFormerStorage(deps);
  await retryAtOnce(deps.db);
  await sweep(deps, "at the start");
  return monitorDatabases(deps);
}

/** Ends what nothing asks for, and takes up what was left: jobs that were lost, and pods that ended while nobody looked. */
async function sweep(deps: ReconcileDeps, when: "at the start" | "meanwhile"): Promise<void> {
  await endOrphans(deps);
  await markMissingDatabasesLost(deps);
  await markMissingServicesLost(deps);
  await stopSuspended(deps.db, deps.recordEvent);
  await findUnfinished(deps.db, when);
  await findUnfinishedServices(deps, when);
}

/** Each kind of work has workers of its own: none waits for another kind. */
function toCrews(deps: ReconcilerDeps, databases: ReconcileDeps | undefined, stopping: AbortSignal): readonly Crew[] {
  const webhooks: TaskList = {
    "deliver-webhooks": task("deliver-webhooks", ({ org_id: orgId }, { ended }) =>
      deliverWebhooks(deps, orgId, AbortSignal.any([stopping, ended])),
    ),
    // its delivery is due as others are, and found by `sweep`
    "deliver-webhook": task("deliver-webhook", async () => undefined),
  };
  const upkeep: TaskList = {
    sweep: task("sweep", async () => {
      await findMissingMains(deps.db);
      await cleanIdempotency(deps.db);
      for (const orgId of await findDueOrganizations(deps.db)) await enqueueDeliveries(deps.db, orgId);
      if (databases === undefined) return;
      await sweep(databases, "meanwhile");
    }),
  };
  const quick: TaskList = {
    "provision-main": task("provision-main", ({ org_id: orgId }) => provisionMain(deps, orgId)),
  };
  const crews: readonly Crew[] = [
    { tasks: webhooks, at_once: AT_ONCE.webhooks },
    { tasks: upkeep, at_once: AT_ONCE.upkeep },
    { tasks: quick, at_once: AT_ONCE.databases },
  ];
  if (databases === undefined) return crews;
  quick["reconcile-database"] = task("reconcile-database", ({ database_id: databaseId }, { attempt, ended }) =>
    reconcileDatabase(databases, { id: databaseId, attempt, signal: AbortSignal.any([stopping, ended]) }),
  );
  upkeep.collect = task("collect", () => collect(databases));
  const services: TaskList = {
    "reconcile-service": task("reconcile-service", ({ service_id: serviceId }, { attempt, ended }) =>
      reconcileService(databases, { id: serviceId, attempt, signal: AbortSignal.any([stopping, ended]) }),
    ),
  };
  const builds: TaskList = {
    "build-image": task("build-image", ({ database_id: databaseId }, { attempt, ended }) =>
      buildImage(databases, { id: databaseId, attempt, signal: AbortSignal.any([stopping, ended]) }),
    ),
    "prepare-image": task("prepare-image", ({ preparation_id: preparationId }, { attempt, ended }) =>
      prepareImage(databases, { id: preparationId, attempt, signal: AbortSignal.any([stopping, ended]) }),
    ),
  };
  return [...crews, { tasks: services, at_once: AT_ONCE.services }, { tasks: builds, at_once: AT_ONCE.builds }];
}

interface TaskRun {
  /** From 1. */
  readonly attempt: number;
  /** Aborts when its workers end before it: others take the job up. */
  readonly ended: AbortSignal;
}

function task<Name extends JobName>(
  name: Name,
  work: (payload: z.output<(typeof JOBS)[Name]>, run: TaskRun) => Promise<void>,
): TaskList[string] {
  return (payload, { abortSignal, job }) =>
    work(JOBS[name].parse(payload) as z.output<(typeof JOBS)[Name]>, {
      attempt: job.attempts,
      ended: abortSignal ?? new AbortController().signal,
    });
}
