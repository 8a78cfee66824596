import { appError } from "@appdb/contract/errors";
import type { Operation } from "@appdb/contract/routes/control";
import { sql } from "kysely";
import { doneBy } from "../../audit/event.ts";
import type { OperationRow } from "../../database/resource-tables.ts";
import type { OperationDeps } from "../../operations/run-operation.ts";
import { enqueueReconcileDatabase } from "../../queue/jobs.ts";
import { demand } from "../../requests/checked-route.ts";
import type { Caller } from "../keys/create-key.ts";
import { findOperation, hasEnded, toOperation } from "./operations-store.ts";

/**
 * Cancels an open operation. Everyone may cancel their own operations.
 * @throws operation_not_found, forbidden, operation_not_cancellable
 */
export async function cancelOperation(deps: OperationDeps, caller: Caller, id: string): Promise<Operation> {
  const { tx } = deps;
  const { org, principal } = caller;
  const found = await findOperation(tx, org.id, id);
  if (found.user_id === null || found.user_id !== principal.user_id) demand(org, "operation.cancel");
  if (hasEnded(found) || !found.is_cancellable) throw notCancellable(found);
  const deleted = await tx
    .updateTable("control.operations")
    .set({ state: "cancelled", ended_at: sql<Date>`now()` })
    .where("id", "=", found.id)
    .where("state", "in", ["pending", "running"])
    .executeTakeFirst();
  // it ended between the two statements
  if (deleted.numUpdatedRows === 0n) throw notCancellable(await findOperation(tx, org.id, id));
  if (found.database_id !== null) await enqueueReconcileDatabase(tx, found.database_id);
  await deps.recordEvent(tx, {
    action: "operation.cancel",
    target: found.target,
    ...doneBy(caller),
    operation_id: found.id,
    detail: { kind: found.kind },
  });
  return toOperation(await findOperation(tx, org.id, id));
}

function notCancellable(row: OperationRow): Error {
  return appError("operation_not_cancellable", {
    detail: hasEnded(row)
      ? `The operation ${row.id} (${row.kind} of ${row.target}) has ended: it is ${row.state}.`
      : `The operation ${row.id} (${row.kind} of ${row.target}) cannot be cancelled: the organization needs its result.`,
    hint: `Show it: cli operations show ${row.id}`,
    meta: { id: row.id, state: row.state },
  });
}
