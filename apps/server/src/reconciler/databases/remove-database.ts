import { sql } from "kysely";
import { BY_SYSTEM } from "../../audit/event.ts";
import { endOperation } from "../../operations/run-operation.ts";
import type { Outcome } from "../core/create-reconciler.ts";
import type { ReconcileDeps } from "../core/reconcile-deps.ts";
import { applyChange, begin, currentOperation, isUnchanged } from "../core/resource.ts";
import { DATABASES, type DatabaseSnapshot } from "./database-resource.ts";
import { endPods, forgetPods } from "./stop-database.ts";

/**
 * Ends the pods of a deleted database. Its storage stays for the undelete period. Then the storage and the row with its
 * secrets are removed.
 */
export async function removeDatabase(deps: ReconcileDeps, snapshot: DatabaseSnapshot): Promise<Outcome> {
  const { row } = snapshot;
  if (!(await begin(DATABASES, deps, snapshot))) return "moved";
  await deps.reconcileStepDone?.("begun");
  await endPods(deps, row.id);
  await deps.reconcileStepDone?.("pod_stopped");
  if (!(await isDue(deps, row.id))) {
    await applyChange(DATABASES, deps, snapshot, {
      event: "stopped",
      end: { state: "succeeded" },
      set: { awake_because: null },
      also: (tx) => forgetPods(tx, row.id),
    });
    await deps.reconcileStepDone?.("ended");
    return "later";
  }
  // first: a bucket that does not answer keeps the row, and the removal is tried again
  await deps.bucket?.empty(row);
  await deps.machine.driver.forgetDatabase(row.id);
  await deps.reconcileStepDone?.("storage_removed");
  await deps.db.transaction().execute(async (tx) => {
    if (!(await isUnchanged(DATABASES, tx, snapshot))) return;
    const operation = currentOperation(snapshot);
    if (operation !== undefined) {
      await endOperation({ tx, recordEvent: deps.recordEvent }, operation.id, { state: "succeeded" });
    }
    await tx.deleteFrom("control.databases").where("id", "=", row.id).execute();
    await deps.recordEvent(tx, {
      action: "database.purge",
      target: snapshot.uri,
      org_id: row.org_id,
      ...BY_SYSTEM,
      outcome: "succeeded",
      detail: {},
    });
  });
  await deps.reconcileStepDone?.("ended");
  return "moved";
}

/** Whether the undelete period is over, by the database's clock. From then on the database cannot be undeleted. */
async function isDue({ db }: Pick<ReconcileDeps, "db">, id: string): Promise<boolean> {
  const row = await db
    .selectFrom("control.databases")
    .select(sql<boolean>`purge_at <= now()`.as("is_due"))
    .where("id", "=", id)
    .executeTakeFirst();
  return row?.is_due === true;
}
