import { setTimeout as sleep } from "node:timers/promises";
import type { OperationError } from "../operations/run-operation.ts";
import { databasePlaces } from "../pods/database-places.ts";
import { enqueueReconcileDatabase } from "../queue/jobs.ts";
import { changeDatabase, isAsSeen, nameDatabase } from "./change-database.ts";
import type { ReconcileDeps } from "./database-deps.ts";
import { inSeconds, retryAfter } from "./machine-errors.ts";
import { keepPod, STOP_GRACE_MS } from "./pod-rows.ts";
import type { WorkOutcome } from "./reconcile-database.ts";
import { isCancelledCreation, type SeenDatabase, wantedOf } from "./see-database.ts";
import { leaveServicesStopped } from "./services-of-database.ts";
import { endPods } from "./stop-database.ts";

/** Seconds before another start, after so many that failed one after the other: while somebody waits, and when nobody does, in which
 *  time a machine that was short of something may have it again. */
const PAUSES_S = { waited_for: [0.2, 0.5, 1, 2], alone: [0.2, 1, 3, 10, 30, 60, 120] } as const;
/** Waited for in the job: the workers look only now and then for jobs whose time has come. */
const SHORT_S = 2;
/** Codes of what a later try meets as well. */
const PERMANENT =
  /^(pods_.*|config_.*|catalog_too_new|upgrade_failed|postgres_unsupported|python_not_found|environment_failed|blobs_missing|image_missing|master_key_wrong|operation_cancelled|internal_error)$/;

/** Seconds to wait before a start is tried again; undefined to give up. */
export function nextStart(failedStarts: number, code: string, who: keyof typeof PAUSES_S): number | undefined {
  return PERMANENT.test(code) ? undefined : PAUSES_S[who][failedStarts - 1];
}

/** A start that failed: another one after a pause, or, after too many and for what no other one heals, the database is FAILED and
 *  says why. */
export async function failStart(
  deps: ReconcileDeps,
  seen: SeenDatabase,
  met: OperationError,
  signal: AbortSignal,
): Promise<WorkOutcome> {
  const failure = nameDatabase(met, seen.uri);
  const { id } = seen.row;
  const { driver, place } = deps.machine;
  const failedStarts = await countFailure(deps, seen);
  if (failedStarts === undefined) return "moved";
  const pauseS = nextStart(failedStarts, failure.code, seen.open.length > 0 ? "waited_for" : "alone");
  if (pauseS === undefined)
    return await giveUp(deps, seen, failure, retryAfter("database", failure.code, failedStarts));
  await driver.stop(databasePlaces(place, id).pod_id, STOP_GRACE_MS);
  deps.log.warn(
    { db: id, failed_starts: failedStarts, code: failure.code, detail: failure.detail },
    "a pod did not start",
  );
  if (pauseS > SHORT_S) {
    await enqueueReconcileDatabase(deps.db, id, pauseS);
    return "later";
  }
  await sleep(pauseS * 1_000, undefined, { signal });
  return "moved";
}

/** How many starts failed one after the other, with this one; undefined when something else is asked for by now. */
async function countFailure({ db }: ReconcileDeps, seen: SeenDatabase): Promise<number | undefined> {
  return await db.transaction().execute(async (tx) => {
    if (!(await isAsSeen(tx, seen))) return undefined;
    const { failed_starts: failedStarts } = await tx
      .updateTable("control.databases")
      .set(({ eb }) => ({ failed_starts: eb("failed_starts", "+", 1) }))
      .where("id", "=", seen.row.id)
      .returning("failed_starts")
      .executeTakeFirstOrThrow();
    return failedStarts;
  });
}

async function giveUp(
  deps: ReconcileDeps,
  seen: SeenDatabase,
  failure: OperationError,
  retryS: number | undefined,
): Promise<WorkOutcome> {
  const { row } = seen;
  const { pod_id: podId } = databasePlaces(deps.machine.place, row.id);
  deps.log.error({ db: row.id, code: failure.code, detail: failure.detail, retry_s: retryS }, "a database has failed");
  await endPods(deps, row.id);
  await changeDatabase(deps, seen, {
    event: "start_failed",
    end: { state: "failed", error: failure },
    set: {
      failure: JSON.stringify(failure),
      retry_at: inSeconds(retryS),
      awake_because: null,
      // another try is one of this, not of what ran before
      ...(isCancelledCreation(seen) ? {} : { observed: JSON.stringify(wantedOf(seen)) }),
    },
    also: async (tx) => {
      await leaveServicesStopped(tx, row.id);
      await keepPod(tx, row.id, { id: podId, kind: "database", state: "FAILED", reason: failure.detail });
    },
  });
  await deps.reconcileStepDone?.("ended");
  return "moved";
}

/** An update that could not be begun: the pod runs as before, and what was asked for stays to be done. */
export async function failUpdate(
  deps: ReconcileDeps,
  seen: SeenDatabase,
  failure: OperationError,
): Promise<WorkOutcome> {
  await changeDatabase(deps, seen, {
    event: "build_failed",
    end: { state: "failed", error: nameDatabase(failure, seen.uri) },
  });
  await deps.reconcileStepDone?.("ended");
  return "moved";
}
