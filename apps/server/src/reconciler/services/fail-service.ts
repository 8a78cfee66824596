import type { ServiceEvent } from "@appdb/contract/control/service-states";
import type { OperationError } from "../../operations/run-operation.ts";
import { servicePodId } from "../../pods/service-paths.ts";
import type { Outcome } from "../core/create-reconciler.ts";
import type { StartPolicy } from "../core/failed-starts.ts";
import { type LostPod, markFailedByLosses } from "../core/lost-pods.ts";
import { upsertPodRow } from "../core/pod-rows.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { applyChange } from "../core/resource.ts";
import { endInstance } from "./service-pods.ts";
import { needsInstance, SERVICES, type ServiceSnapshot } from "./service-resource.ts";
import { endNewInstances, lastInstance } from "./stop-service.ts";

/** The start policy of services. Two failures are most likely the application's. */
export const SERVICE_STARTS: StartPolicy<ServiceSnapshot> = {
  max_tries: 2,
  ended_step: "service ended",
  fallBack: async (deps, snapshot, failure) =>
    snapshot.row.observed !== null && needsInstance(snapshot)
      ? await restorePreviousRelease(deps, snapshot, failure)
      : undefined,
  async endStart(deps, snapshot) {
    const { observed } = snapshot.row;
    if (observed === null) await endNewInstances(deps, snapshot);
    else await endInstance(deps, snapshot.row, observed.instance);
  },
  async endPods(deps, snapshot) {
    const { observed } = snapshot.row;
    await endNewInstances(deps, snapshot);
    if (observed !== null) await endInstance(deps, snapshot.row, observed.instance);
  },
  failedColumns: () => ({ observed: null }),
  // shows the reason until the next start
  async onFailed(tx, _deps, { row }, reason) {
    const podId = servicePodId(row.id, await lastInstance(tx, row.id));
    await upsertPodRow(tx, row.database_id, { id: podId, kind: "service", state: "FAILED", reason });
  },
};

/** Keeps the serving instance and makes its release the desired one. A lost instance is restarted instead. */
async function restorePreviousRelease(
  deps: ReconcileDeps,
  snapshot: ServiceSnapshot,
  error: OperationError,
): Promise<Outcome> {
  const { desired, id, observed, state } = snapshot.row;
  if (observed === null) throw new Error("There is no previous instance.");
  deps.log.warn({ service: id, code: error.code, detail: error.detail }, "a pod did not start");
  await endNewInstances(deps, snapshot);
  const { release, restarts } = observed;
  const event: ServiceEvent = state === "UPDATING" ? "start_failed" : "lost";
  await applyChange(SERVICES, deps, snapshot, {
    event,
    end: { state: "failed", error },
    set: { desired: JSON.stringify({ ...desired, release, restarts }), failed_starts: 0 },
  });
  await deps.reconcileStepDone?.("service ended");
  return "moved";
}

/** Marks a service as FAILED because its pod ended repeatedly, until someone requests a start. */
export async function failLostService(
  deps: Pick<ReconcileDeps, "db" | "log" | "machine" | "recordEvent">,
  snapshot: ServiceSnapshot,
  pod: Omit<LostPod, "pause_ms">,
): Promise<boolean> {
  const { row, uri } = snapshot;
  const failure = {
    code: "pod_failed",
    detail: `The pod of ${uri} ended repeatedly; the last time ${pod.reason}`,
    hint: `See its log: cli service logs ${uri}   then try again: cli service restart ${uri}`,
  };
  if (!(await markFailedByLosses(SERVICES, deps, snapshot, pod, { failure, set: { observed: null } }))) return false;
  if (row.observed !== null) await endInstance(deps, row, row.observed.instance);
  await upsertPodRow(deps.db, row.database_id, {
    id: pod.pod_id,
    kind: "service",
    state: "FAILED",
    reason: pod.reason,
  });
  return true;
}
