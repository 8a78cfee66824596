import type { Tx } from "../../database/pool.ts";
import { databasePod } from "../../pods/database-paths.ts";
import { findPodToken } from "../../pods/pod-token.ts";
import { enqueueReconcileDatabase } from "../../queue/jobs.ts";
import { askNeeded } from "../cleanup/collect-trees.ts";
import type { Outcome } from "../core/create-reconciler.ts";
import { STOP_GRACE_MS } from "../core/pod-rows.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { applyChange, begin, currentOperation } from "../core/resource.ts";
import { drainServicePods, endServicePods, isWithinDrainTime, LOOK_AGAIN_S } from "../services/service-pods.ts";
import { markServicesStopped } from "../services/services-of-database.ts";
import { DATABASES, type DatabaseSnapshot } from "./database-resource.ts";
import { keepMetered } from "./keep-metered.ts";

/** Ends the database's pods after the running requests of its services, if necessary in a later job. The data stay. */
export async function stopDatabase(
  deps: ReconcileDeps,
  snapshot: DatabaseSnapshot,
  signal: AbortSignal,
): Promise<Outcome> {
  if (!(await begin(DATABASES, deps, snapshot))) return "moved";
  await deps.reconcileStepDone?.("begun");
  const operation = currentOperation(snapshot);
  const stillRunning = await drainServicePods(
    deps,
    snapshot.row.id,
    operation?.state === "running" ? "again" : "first",
    signal,
  );
  if (stillRunning > 0 && operation !== undefined && (await isWithinDrainTime(deps, operation.id))) {
    await enqueueReconcileDatabase(deps.db, snapshot.row.id, LOOK_AGAIN_S, { keeps_sooner: true });
    return "later";
  }
  await recordNeededTrees(deps, snapshot.row.id);
  await recordUse(deps, snapshot.row.id);
  await endPods(deps, snapshot.row.id);
  await deps.reconcileStepDone?.("pod_stopped");
  await applyChange(DATABASES, deps, snapshot, {
    event: "stopped",
    end: { state: "succeeded" },
    set: { awake_because: null, failure: null },
    also: (tx) => forgetPods(tx, snapshot.row.id),
  });
  await deps.reconcileStepDone?.("ended");
  return "moved";
}

/** Stores the trees that its tables need, which cannot be asked for while it sleeps. */
async function recordNeededTrees(deps: ReconcileDeps, id: string): Promise<void> {
  const needed = await askNeeded(deps, id);
  if (needed === undefined) return;
  const neededTrees = JSON.stringify(needed);
  await deps.db.updateTable("control.databases").set({ needed_trees: neededTrees }).where("id", "=", id).execute();
}

/** Stores the usage of its pod, which would be lost with the pod. */
async function recordUse({ db, envelope, machine }: ReconcileDeps, id: string): Promise<void> {
  const token = await findPodToken({ db, envelope }, id);
  if (token === undefined) return;
  const { api } = await machine.driver.endpoints(databasePod(id));
  const health = await machine.askHealth({ endpoint: api, token });
  if (health !== undefined) await keepMetered(db, id, health);
}

/** Records that a database and its services have no pods. */
export async function forgetPods(tx: Tx, databaseId: string): Promise<void> {
  await markServicesStopped(tx, databaseId);
  await tx.deleteFrom("control.pods").where("database_id", "=", databaseId).execute();
}

/**
 * Ends all pods of a database and removes their files, except its stored data. Pods of services end first, because
 * their running requests still need PostgreSQL.
 */
export async function endPods({ machine }: Pick<ReconcileDeps, "machine">, databaseId: string): Promise<void> {
  const { driver } = machine;
  await endServicePods({ machine }, databaseId);
  const known = (await driver.list({ database_id: databaseId })).map(({ id }) => id);
  for (const id of new Set([databasePod(databaseId).id, ...known])) {
    await driver.stop(id, STOP_GRACE_MS);
    await driver.forget({ id, database_id: databaseId });
  }
}
