import type { OperationError } from "../../operations/run-operation.ts";
import { databasePod } from "../../pods/database-paths.ts";
import type { Outcome } from "../core/create-reconciler.ts";
import { failStart, type StartPolicy } from "../core/failed-starts.ts";
import { nameDatabase } from "../core/failures.ts";
import { type LostPod, markFailedByLosses, type ServingResource } from "../core/lost-pods.ts";
import { keepMemoryEnd, STOP_GRACE_MS, upsertPodRow } from "../core/pod-rows.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { applyChange } from "../core/resource.ts";
import { endServicePods } from "../services/service-pods.ts";
import { markServicesStopped } from "../services/services-of-database.ts";
import { DATABASES, type DatabaseSnapshot, desiredSpec, isCancelledCreation } from "./database-resource.ts";
import { endPods } from "./stop-database.ts";

const STARTS: StartPolicy<DatabaseSnapshot> = {
  max_tries: 5,
  ended_step: "ended",
  endStart: async ({ machine }, { row }) => await machine.driver.stop(databasePod(row.id).id, STOP_GRACE_MS),
  endPods: (deps, { row }) => endPods(deps, row.id),
  failedColumns(snapshot) {
    // the next start repeats this one instead of the previous state
    const observed = isCancelledCreation(snapshot) ? {} : { observed: JSON.stringify(desiredSpec(snapshot)) };
    return { ...observed, awake_because: null };
  },
  async onFailed(tx, _deps, { row }, reason) {
    await markServicesStopped(tx, row.id);
    await upsertPodRow(tx, row.id, { id: databasePod(row.id).id, kind: "database", state: "FAILED", reason });
  },
};

export async function failDatabaseStart(
  deps: ReconcileDeps,
  snapshot: DatabaseSnapshot,
  failure: OperationError,
  signal: AbortSignal,
): Promise<Outcome> {
  return await failStart(DATABASES, STARTS, deps, snapshot, failure, signal);
}

/** Fails an update that could not begin. The pod and the desired state stay. */
export async function failUpdate(
  deps: ReconcileDeps,
  snapshot: DatabaseSnapshot,
  failure: OperationError,
): Promise<Outcome> {
  await applyChange(DATABASES, deps, snapshot, {
    event: "build_failed",
    end: { state: "failed", error: nameDatabase(failure, snapshot.uri) },
  });
  await deps.reconcileStepDone?.("ended");
  return "moved";
}

/** Marks a database as FAILED because its pod ended repeatedly, until someone requests a start. */
export async function failLostDatabase(
  deps: Pick<ReconcileDeps, "db" | "log" | "machine" | "recordEvent">,
  serving: ServingResource,
  pod: Omit<LostPod, "pause_ms">,
): Promise<void> {
  const { row, uri } = serving;
  const { pod_id: podId, reason } = pod;
  const failure = {
    code: "pod_failed",
    detail: `The database's pod ended repeatedly; the last time ${reason}`,
    hint:
      pod.exit?.is_out_of_memory === true
        ? `Give it more memory_mb in its entry of service.toml, then: cli db build-image ${uri}`
        : `See its log: cli db logs ${uri}   then try again: cli db retry ${uri}`,
  };
  const hasFailed = await markFailedByLosses(DATABASES, deps, serving, pod, {
    failure,
    async also(tx) {
      await markServicesStopped(tx, row.id);
      await upsertPodRow(tx, row.id, { id: podId, kind: "database", state: "FAILED", reason });
      await keepMemoryEnd(tx, podId, pod.exit);
    },
  });
  if (!hasFailed) return;
  await endServicePods(deps, row.id);
  await deps.machine.driver.stop(podId, STOP_GRACE_MS);
  await deps.machine.driver.forget({ id: podId, database_id: row.id });
}
