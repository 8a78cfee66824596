import { nextServiceState } from "@appdb/contract/control/service-states";
import { SERVICE_STATES, type ServiceState } from "@appdb/contract/routes/control-services";
import { sql } from "kysely";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import { enqueueReconcileService } from "../../queue/jobs.ts";

/** Requests a reconcile of a database's services once it is up or starting, to start the desired ones. */
export async function wakeServices(tx: ControlDatabase | Tx, databaseId: string): Promise<void> {
  const rows = await tx
    .selectFrom("control.services")
    .select(["id", "state", "desired"])
    .where("database_id", "=", databaseId)
    .where("state", "!=", "AVAILABLE")
    .execute();
  for (const { desired, id, state } of rows) {
    if (state === "FAILED" || (state === "STOPPED" && !desired.is_running)) continue;
    await enqueueReconcileService(tx, id);
  }
}

/**
 * Requests new instances of a database's running and failed services, whose pods have the resources that it had when they
 * started. The previous instances serve until the new ones are ready.
 */
export async function renewServices(tx: Tx, databaseId: string): Promise<void> {
  const rows = await tx
    .updateTable("control.services")
    .set({
      state: sql<ServiceState>`case state when 'FAILED' then 'STARTING' else 'UPDATING' end`,
      generation: sql<number>`generation + 1`,
      desired: sql<string>`jsonb_set(desired, '{restarts}', to_jsonb((desired ->> 'restarts')::integer + 1))`,
    })
    .where("database_id", "=", databaseId)
    // as after a request to restart them
    .where("state", "in", ["AVAILABLE", "UPDATING", "FAILED"])
    .where(sql<boolean>`(desired ->> 'is_running')::boolean`)
    .where("is_pruned", "=", false)
    .returning("id")
    .execute();
  for (const { id } of rows) await enqueueReconcileService(tx, id);
}

/** Records that the services of a database have no pods. Their desired state stays. */
export async function markServicesStopped(tx: Tx, databaseId: string): Promise<void> {
  const from = SERVICE_STATES.filter((state) => nextServiceState(state, "stopped") === "STOPPED");
  const rows = await tx
    .updateTable("control.services")
    .set({ state: "STOPPED", observed: null, failure: null })
    .where("database_id", "=", databaseId)
    .where("state", "in", from)
    .where("state", "!=", "STOPPED")
    .returning("id")
    .execute();
  // ends their open operations
  for (const { id } of rows) await enqueueReconcileService(tx, id);
}

/** For services whose pods ended with the server: the next server starts them with their databases. */
export async function markServicesStarting(db: ControlDatabase, databaseIds: readonly string[]): Promise<void> {
  if (databaseIds.length === 0) return;
  await db
    .updateTable("control.services")
    .set({ state: "STARTING" })
    .where("database_id", "in", databaseIds)
    .where("state", "in", ["AVAILABLE", "UPDATING"])
    .execute();
}
