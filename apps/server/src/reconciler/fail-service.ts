import { setTimeout as sleep } from "node:timers/promises";
import type { Tx } from "../database/pool.ts";
import type { OperationError } from "../operations/run-operation.ts";
import { servicePodId } from "../pods/service-places.ts";
import { enqueueReconcileService } from "../queue/jobs.ts";
import { changeService, isServiceAsSeen, nameService } from "./change-service.ts";
import type { ReconcileDeps } from "./database-deps.ts";
import { nextStart } from "./fail-start.ts";
import { inSeconds, retryAfter } from "./machine-errors.ts";
import { keepPod } from "./pod-rows.ts";
import type { WorkOutcome } from "./reconcile-database.ts";
import { needsInstance, type SeenService } from "./see-service.ts";
import { endInstance } from "./service-pods.ts";
import { endNewInstances, lastInstance } from "./stop-service.ts";

/** A start that somebody waits for is tried so often: what fails twice is most likely the application's. */
const TRIES = 2;
/** Waited for in the job: the workers look only now and then for jobs whose time has come. */
const SHORT_S = 2;

/**
 * A start that failed. An instance that serves goes on, and what it runs is what the service shall run from then on. Otherwise another
 * start follows after a pause, or the service is FAILED and says why.
 */
export async function failService(
  deps: ReconcileDeps,
  seen: SeenService,
  met: OperationError,
  signal: AbortSignal,
): Promise<WorkOutcome> {
  const failure = nameService(met, seen.uri);
  const { id, observed } = seen.row;
  deps.log.warn({ service: id, code: failure.code, detail: failure.detail }, "a service's pod did not start");
  if (observed !== null && needsInstance(seen)) return await keepFormer(deps, seen, failure);
  const failedStarts = await countFailure(deps, seen);
  if (failedStarts === undefined) return "moved";
  const isWaitedFor = seen.open.length > 0;
  const pauseS =
    isWaitedFor && failedStarts >= TRIES
      ? undefined
      : nextStart(failedStarts, failure.code, isWaitedFor ? "waited_for" : "alone");
  if (pauseS === undefined) return await giveUp(deps, seen, failure, retryAfter("service", failure.code, failedStarts));
  if (observed === null) await endNewInstances(deps, seen);
  else await endInstance(deps, seen.row, observed.instance);
  if (pauseS > SHORT_S) {
    await enqueueReconcileService(deps.db, id, pauseS);
    return "later";
  }
  await sleep(pauseS * 1_000, undefined, { signal });
  return "moved";
}

/** What serves goes on; while it is lost, it is what is started again. */
async function keepFormer(deps: ReconcileDeps, seen: SeenService, error: OperationError): Promise<WorkOutcome> {
  const { desired, observed, state } = seen.row;
  if (observed === null) throw new Error("There is no former instance.");
  await endNewInstances(deps, seen);
  const { release, restarts } = observed;
  await changeService(deps, seen, {
    event: state === "UPDATING" ? "start_failed" : "lost",
    end: { state: "failed", error },
    set: { desired: JSON.stringify({ ...desired, release, restarts }), failed_starts: 0 },
  });
  await deps.reconcileStepDone?.("service ended");
  return "moved";
}

/** How many starts failed one after the other, with this one; undefined when something else is asked for by now. */
async function countFailure({ db }: ReconcileDeps, seen: SeenService): Promise<number | undefined> {
  return await db.transaction().execute(async (tx) => {
    if (!(await isServiceAsSeen(tx, seen))) return undefined;
    const { failed_starts: failedStarts } = await tx
      .updateTable("control.services")
      .set(({ eb }) => ({ failed_starts: eb("failed_starts", "+", 1) }))
      .where("id", "=", seen.row.id)
      .returning("failed_starts")
      .executeTakeFirstOrThrow();
    return failedStarts;
  });
}

async function giveUp(
  deps: ReconcileDeps,
  seen: SeenService,
  failure: OperationError,
  retryS: number | undefined,
): Promise<WorkOutcome> {
  const { row } = seen;
  deps.log.error(
    { service: row.id, code: failure.code, detail: failure.detail, retry_s: retryS },
    "a service has failed",
  );
  await endNewInstances(deps, seen);
  if (row.observed !== null) await endInstance(deps, row, row.observed.instance);
  await changeService(deps, seen, {
    event: "start_failed",
    end: { state: "failed", error: failure },
    set: { failure: JSON.stringify(failure), observed: null, retry_at: inSeconds(retryS) },
    also: (tx) => keepFailedPod(tx, row, failure.detail),
  });
  await deps.reconcileStepDone?.("service ended");
  return "moved";
}

/** For people, who see why until it is started again. */
async function keepFailedPod(
  tx: Tx,
  { database_id: databaseId, id }: SeenService["row"],
  reason: string,
): Promise<void> {
  const podId = servicePodId(id, await lastInstance(tx, id));
  await keepPod(tx, databaseId, { id: podId, kind: "service", state: "FAILED", reason });
}
