import { type DatabaseEvent, nextState } from "@appdb/contract/control/database-states";
import { type AppError, appError, toProblem } from "@appdb/contract/errors";
import type { RawBuilder, Updateable } from "kysely";
import type { DatabaseTables } from "../database/database-tables.ts";
import type { Tx } from "../database/pool.ts";
import { beginOperation, endOperation, type OperationError } from "../operations/run-operation.ts";
import type { ReconcileDeps } from "./database-deps.ts";
import { currentOperation, type SeenDatabase } from "./see-database.ts";

type DatabaseUpdate = Omit<Updateable<DatabaseTables["control.databases"]>, "state" | "retry_at"> & {
  retry_at?: RawBuilder<Date> | null;
};

export interface DatabaseChange {
  readonly event: DatabaseEvent;
  readonly set?: DatabaseUpdate;
  /** How the current operation ends; it goes on when this is left out. */
  readonly end?: { readonly state: "succeeded" } | { readonly state: "failed"; readonly error: OperationError };
  /** What else belongs into the transaction. */
  also?(tx: Tx): Promise<void>;
}

/**
 * Says what became of a database, in one transaction with the end of its operation. False, and nothing is changed, when something
 * else is asked for by now: whoever sees that looks again.
 */
export async function changeDatabase(
  { db, recordEvent }: Pick<ReconcileDeps, "db" | "recordEvent">,
  seen: SeenDatabase,
  change: DatabaseChange,
): Promise<boolean> {
  return await db.transaction().execute(async (tx) => {
    if (!(await isAsSeen(tx, seen))) return false;
    const state = nextState(seen.row.state, change.event);
    if (state === undefined) throw new Error(`${change.event} does not belong to ${seen.row.state}.`);
    await tx
      .updateTable("control.databases")
      .set({ ...change.set, state })
      .where("id", "=", seen.row.id)
      .execute();
    await change.also?.(tx);
    const operation = currentOperation(seen);
    if (operation !== undefined && change.end !== undefined) {
      await endOperation({ tx, recordEvent }, operation.id, change.end);
    }
    return true;
  });
}

/** Locks the database; false when its state or what it shall be moved since. */
export async function isAsSeen(tx: Tx, { row }: SeenDatabase): Promise<boolean> {
  const now = await tx
    .selectFrom("control.databases")
    .select(["state", "generation"])
    .where("id", "=", row.id)
    .forUpdate()
    .executeTakeFirst();
  return now?.state === row.state && now.generation === row.generation;
}

/**
 * Says that the current operation is worked at. False when it was cancelled meanwhile. A person's wish for a start is not held
 * responsible for those that failed before.
 */
export async function begin({ db }: Pick<ReconcileDeps, "db">, seen: SeenDatabase): Promise<boolean> {
  const operation = currentOperation(seen);
  if (operation === undefined) return true;
  return await db.transaction().execute(async (tx) => {
    if (!(await beginOperation(tx, operation.id))) return false;
    if (operation.state === "pending") {
      await tx.updateTable("control.databases").set({ failed_starts: 0 }).where("id", "=", seen.row.id).execute();
    }
    return true;
  });
}

/** From here on the operation is carried out, and cannot be cancelled. False when it was. */
export async function commit({ db }: Pick<ReconcileDeps, "db">, seen: SeenDatabase): Promise<boolean> {
  const operation = currentOperation(seen);
  if (operation === undefined) return true;
  const kept = await db
    .updateTable("control.operations")
    .set({ is_cancellable: false })
    .where("id", "=", operation.id)
    .where("state", "=", "running")
    .executeTakeFirst();
  return kept.numUpdatedRows > 0n;
}

/** An error as databases and operations keep it. */
export function toFailure(error: AppError): OperationError {
  const { code, detail, hint } = toProblem(error);
  return { code, detail, hint: hint ?? null };
}

/** Says of which database an error is: what makes pods and images knows them by their ids alone. */
export function nameDatabase<Failure extends OperationError>(failure: Failure, uri: string): Failure {
  return { ...failure, hint: failure.hint?.replaceAll("<db_uri>", uri) ?? null };
}

/** What a person is told of an error that is in the log. */
export function unexpected(): AppError {
  return appError("internal_error", {
    detail: "An unexpected error was met; the server's log has it.",
    hint: "Try again; if it stays, show the operator the log.",
  });
}
