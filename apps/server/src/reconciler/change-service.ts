import { nextServiceState, type ServiceEvent } from "@appdb/contract/control/service-states";
import type { RawBuilder, Updateable } from "kysely";
import type { Tx } from "../database/pool.ts";
import type { ServiceTables } from "../database/service-tables.ts";
import { beginOperation, endOperation, type OperationError } from "../operations/run-operation.ts";
import type { ReconcileDeps } from "./database-deps.ts";
import { currentServiceOperation, type SeenService } from "./see-service.ts";

type ServiceUpdate = Omit<Updateable<ServiceTables["control.services"]>, "state" | "retry_at"> & {
  retry_at?: RawBuilder<Date> | null;
};

export interface ServiceChange {
  readonly event: ServiceEvent;
  readonly set?: ServiceUpdate;
  /** How the current operation ends; it goes on when this is left out. */
  readonly end?: { readonly state: "succeeded" } | { readonly state: "failed"; readonly error: OperationError };
  /** What else belongs into the transaction. */
  also?(tx: Tx): Promise<void>;
}

/**
 * Says what became of a service, in one transaction with the end of its operation. False, and nothing is changed, when something else
 * is asked for by now: whoever sees that looks again.
 */
export async function changeService(
  { db, recordEvent }: Pick<ReconcileDeps, "db" | "recordEvent">,
  seen: SeenService,
  change: ServiceChange,
): Promise<boolean> {
  return await db.transaction().execute(async (tx) => {
    if (!(await isServiceAsSeen(tx, seen))) return false;
    const state = nextServiceState(seen.row.state, change.event);
    if (state === undefined) throw new Error(`${change.event} does not belong to ${seen.row.state}.`);
    await tx
      .updateTable("control.services")
      .set({ ...change.set, state })
      .where("id", "=", seen.row.id)
      .execute();
    await change.also?.(tx);
    const operation = currentServiceOperation(seen);
    if (operation !== undefined && change.end !== undefined) {
      await endOperation({ tx, recordEvent }, operation.id, change.end);
    }
    return true;
  });
}

/** Locks the service; false when its state or what it shall be moved since. */
export async function isServiceAsSeen(tx: Tx, { row }: SeenService): Promise<boolean> {
  const now = await tx
    .selectFrom("control.services")
    .select(["state", "generation", "is_pruned"])
    .where("id", "=", row.id)
    .forUpdate()
    .executeTakeFirst();
  return now?.state === row.state && now.generation === row.generation && now.is_pruned === row.is_pruned;
}

/** Says that the current operation is worked at. False when it has ended meanwhile. */
export async function beginService({ db }: Pick<ReconcileDeps, "db">, seen: SeenService): Promise<boolean> {
  const operation = currentServiceOperation(seen);
  if (operation === undefined) return true;
  return await db.transaction().execute(async (tx) => {
    if (!(await beginOperation(tx, operation.id))) return false;
    if (operation.state === "pending") {
      await tx.updateTable("control.services").set({ failed_starts: 0 }).where("id", "=", seen.row.id).execute();
    }
    return true;
  });
}

/** Says of which service an error is: what makes pods knows them by their ids alone. */
export function nameService<Failure extends OperationError>(failure: Failure, uri: string): Failure {
  const target = uri.slice(0, uri.lastIndexOf("/"));
  const name = (text: string) => text.replaceAll("<service_uri>", uri).replaceAll("<target>", target);
  return { ...failure, detail: name(failure.detail), hint: failure.hint === null ? null : name(failure.hint) };
}
