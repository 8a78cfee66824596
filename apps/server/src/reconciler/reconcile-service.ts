import { AppError } from "@appdb/contract/errors";
import { isDatabaseLost } from "../database/pool.ts";
import { parseServicePodId } from "../pods/service-places.ts";
import { enqueueReconcileService } from "../queue/jobs.ts";
import { toFailure, unexpected } from "./change-database.ts";
import { changeService } from "./change-service.ts";
import type { ReconcileDeps } from "./database-deps.ts";
import { failService } from "./fail-service.ts";
import { followService } from "./follow-service.ts";
import { fromMachineError } from "./machine-errors.ts";
import type { WorkOutcome } from "./reconcile-database.ts";
import { runService } from "./run-service.ts";
import { chooseServiceWork, type SeenService, type ServiceWork, seeService } from "./see-service.ts";
import { endServicePod } from "./service-pods.ts";
import { endInstances, removeService, sleepService, stopService, tidyService } from "./stop-service.ts";

/** What is not understood is tried as often, with the pauses of the jobs; then a person is told. */
const MOST_ATTEMPTS = 4;
/** Until a database that does not answer at this moment is asked again; one that was lost tells when it is back. */
const UNREACHED_S = 1;

export interface ReconcileServiceInput {
  readonly service_id: string;
  /** Of the job, from 1. */
  readonly attempt: number;
  /** Aborts when the reconciler stops. */
  readonly signal: AbortSignal;
}

/**
 * Takes a service towards what it shall be, until nothing is to be done. Each step looks at what is there, so that the job may run
 * twice, or be killed anywhere and run again; whatever is asked for meanwhile is seen at once.
 */
export async function reconcileService(deps: ReconcileDeps, input: ReconcileServiceInput): Promise<void> {
  const { service_id: serviceId, signal } = input;
  for (;;) {
    signal.throwIfAborted();
    const seen = await seeService(deps.db, serviceId);
    if (seen === undefined) return await endGone(deps, serviceId);
    const work = chooseServiceWork(seen);
    if (work === undefined) {
      // of a start that was given up while it went on
      if (seen.row.state === "STOPPED") await endInstances(deps, seen);
      return;
    }
    if ((await doWork(deps, seen, work, input)) === "later") return;
  }
}

async function doWork(
  deps: ReconcileDeps,
  seen: SeenService,
  work: ServiceWork,
  { attempt, signal }: ReconcileServiceInput,
): Promise<WorkOutcome> {
  await using following = await followService(deps, seen);
  const either = AbortSignal.any([signal, following.signal]);
  try {
    return await WORKS[work](deps, seen, either);
  } catch (error) {
    // whatever it met, it was no longer wanted
    if (following.signal.aborted && !signal.aborted) return "moved";
    if (signal.aborted || isDatabaseLost(error) || work !== "run") throw error;
    if (error instanceof AppError && error.code === "database_not_reached") return await waitForDatabase(deps, seen);
    const short = fromMachineError(error);
    if (short !== undefined) return await failService(deps, seen, toFailure(short), either);
    if (error instanceof AppError) return await failService(deps, seen, toFailure(error), either);
    if (attempt < MOST_ATTEMPTS) throw error;
    deps.log.error({ err: error, service: seen.row.id }, "a service could not be started");
    return await failService(deps, seen, toFailure(unexpected()), either);
  }
}

const WORKS: Record<
  ServiceWork,
  (deps: ReconcileDeps, seen: SeenService, signal: AbortSignal) => Promise<WorkOutcome>
> = {
  run: runService,
  retry,
  wake,
  tidy: tidyService,
  settle,
  stop: stopService,
  sleep: sleepService,
  remove: removeService,
};

/** A database that is on its way has its services looked at once it is there. */
async function waitForDatabase({ db }: ReconcileDeps, { database, row }: SeenService): Promise<WorkOutcome> {
  if (database.state === "AVAILABLE") await enqueueReconcileService(db, row.id, UNREACHED_S);
  return "later";
}

async function wake(deps: ReconcileDeps, seen: SeenService): Promise<WorkOutcome> {
  await changeService(deps, seen, { event: "woken" });
  return "moved";
}

/** What the machine was short of may be there again. */
async function retry(deps: ReconcileDeps, seen: SeenService): Promise<WorkOutcome> {
  deps.log.info(
    { service: seen.row.id, failed_starts: seen.row.failed_starts },
    "a service that failed is started again",
  );
  await changeService(deps, seen, { event: "retry", set: { retry_at: null } });
  return "moved";
}

/** It is already as it was asked to be. */
async function settle(deps: ReconcileDeps, seen: SeenService): Promise<WorkOutcome> {
  const { failure, state } = seen.row;
  const isFailed = state === "FAILED";
  await changeService(deps, seen, {
    event: isFailed ? "start_failed" : "ready",
    end: isFailed ? { state: "failed", error: failure ?? toFailure(unexpected()) } : { state: "succeeded" },
  });
  return "moved";
}

/** Its database went while it was worked at: what was begun for it is ended. */
async function endGone({ machine }: ReconcileDeps, serviceId: string): Promise<void> {
  for (const { id, labels } of await machine.driver.list({ kind: "service" })) {
    const pod = parseServicePodId(id);
    if (pod?.service_id !== serviceId) continue;
    await endServicePod({ machine }, { id: serviceId, database_id: labels.database_id }, pod.instance);
  }
}
