import { notAvailable } from "@appdb/contract/control/database-advice";
import { AppError } from "@appdb/contract/errors";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import { endOperation } from "../../operations/run-operation.ts";
import { databasePod } from "../../pods/database-paths.ts";
import { findPodToken } from "../../pods/pod-token.ts";
import { enqueueReconcileService } from "../../queue/jobs.ts";
import type { Outcome } from "../core/create-reconciler.ts";
import { toFailure } from "../core/failures.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { applyChange, begin, type Change, currentOperation, isUnchanged } from "../core/resource.ts";
import { deleteGoneRows, endInstance, LOOK_AGAIN_S, listServicePods, retireInstances } from "./service-pods.ts";
import { IS_UP, SERVICES, type ServiceSnapshot } from "./service-resource.ts";

/** Pause before an unreachable database is asked again. */
const UNREACHED_S = 1;

/** Ends the pods of a service after their running requests. */
export async function stopService(deps: ReconcileDeps, snapshot: ServiceSnapshot): Promise<Outcome> {
  if (!(await begin(SERVICES, deps, snapshot))) return "moved";
  await endInstances(deps, snapshot);
  await deps.reconcileStepDone?.("service pod_stopped");
  await markStopped(deps, snapshot, { state: "succeeded" });
  await deps.reconcileStepDone?.("service ended");
  return "moved";
}

/** For a service whose database does not run: it starts with the database, and an open request is not carried out. */
export async function sleepService(deps: ReconcileDeps, snapshot: ServiceSnapshot): Promise<Outcome> {
  const { database } = snapshot;
  await endInstances(deps, snapshot);
  const operation = currentOperation(snapshot);
  const error = toFailure(notAvailable(database.uri, database.state, "served"));
  await markStopped(
    deps,
    snapshot,
    operation?.kind === "service.stop" ? { state: "succeeded" } : { state: "failed", error },
  );
  return "moved";
}

/** Removes a service with its data on this machine and in its database. Its events stay. */
export async function removeService(
  deps: ReconcileDeps,
  snapshot: ServiceSnapshot,
  signal: AbortSignal,
): Promise<Outcome> {
  if (!(await begin(SERVICES, deps, snapshot))) return "moved";
  await endInstances(deps, snapshot);
  await deps.reconcileStepDone?.("service pod_stopped");
  if (!(await dropRole(deps, snapshot, signal))) {
    await enqueueReconcileService(deps.db, snapshot.row.id, UNREACHED_S);
    return "later";
  }
  await deps.machine.driver.forgetService({ database_id: snapshot.database.id, service_id: snapshot.row.id });
  await deps.db.transaction().execute(async (tx) => {
    if (!(await isUnchanged(SERVICES, tx, snapshot))) return;
    for (const { id } of snapshot.open) {
      await endOperation({ tx, recordEvent: deps.recordEvent }, id, { state: "succeeded" });
    }
    await tx.deleteFrom("control.services").where("id", "=", snapshot.row.id).execute();
  });
  await deps.reconcileStepDone?.("service ended");
  return "moved";
}

/**
 * False if the database's pod should answer but does not. The role stays in a sleeping database: it grants no
 * additional access, and its name is never reused.
 */
async function dropRole(
  { db, envelope, machine }: ReconcileDeps,
  { database, row }: ServiceSnapshot,
  signal: AbortSignal,
): Promise<boolean> {
  if (!IS_UP.includes(database.state)) return true;
  const token = await findPodToken({ db, envelope }, database.id);
  if (token === undefined) return true;
  const { api } = await machine.driver.endpoints(databasePod(database.id));
  try {
    await machine.dropServiceRole({ uri: database.uri, endpoint: api, token }, row.id, signal);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === "database_not_reached") return false;
    throw error;
  }
}

/** Ends replaced instances after their running requests. Those with streams end in a later job. */
export async function tidyService(
  deps: ReconcileDeps,
  snapshot: ServiceSnapshot,
  signal: AbortSignal,
): Promise<Outcome> {
  const pods = await listServicePods(deps, snapshot.row);
  await deleteGoneRows(deps, snapshot.row, snapshot.row.observed?.instance ?? 0, pods);
  const over = pods.filter(({ instance }) => instance !== snapshot.row.observed?.instance);
  if (over.length === 0) return "later";
  const stillRunning = await retireInstances(deps, snapshot.row, over, signal);
  if (stillRunning > 0) await enqueueReconcileService(deps.db, snapshot.row.id, LOOK_AGAIN_S, { keeps_sooner: true });
  else await deps.reconcileStepDone?.("service retired");
  return "later";
}

/** Ends instances that were started but never served. */
export async function endNewInstances(deps: ReconcileDeps, { row }: ServiceSnapshot): Promise<void> {
  const served = row.observed?.instance ?? -1;
  const pods = await listServicePods(deps, row);
  const fresh = pods.filter(({ instance }) => instance > served).map(({ instance }) => instance);
  // the last one may have folders without a pod
  const last = await lastInstance(deps.db, row.id);
  if (last > Math.max(served, 0)) fresh.push(last);
  for (const instance of new Set(fresh)) await endInstance(deps, row, instance);
}

/** 0 if none was started, and for a deleted service. */
export async function lastInstance(db: ControlDatabase | Tx, serviceId: string): Promise<number> {
  const row = await db.selectFrom("control.services").select("instance").where("id", "=", serviceId).executeTakeFirst();
  return row?.instance ?? 0;
}

/** Ends all instances and removes what earlier ones left. */
export async function endInstances(deps: ReconcileDeps, { row }: ServiceSnapshot): Promise<void> {
  const known = (await listServicePods(deps, row)).map(({ instance }) => instance);
  if (row.observed !== null) known.push(row.observed.instance);
  const last = await lastInstance(deps.db, row.id);
  if (last > 0) known.push(last);
  await Promise.all([...new Set(known)].map((instance) => endInstance(deps, row, instance)));
}

async function markStopped(
  deps: ReconcileDeps,
  snapshot: ServiceSnapshot,
  end: NonNullable<Change<never>["end"]>,
): Promise<void> {
  await applyChange(SERVICES, deps, snapshot, {
    event: "stopped",
    end,
    set: { observed: null, failure: null, observed_generation: snapshot.row.generation },
  });
}
