import { sql } from "kysely";
import { BY_SYSTEM, doneBy, type EventInput, type RecordEvent } from "../audit/event.ts";
import type { Tx } from "../database/pool.ts";
import type { OperationRow } from "../database/resource-tables.ts";

export interface OperationDeps {
  readonly tx: Tx;
  readonly recordEvent: RecordEvent;
}

export interface StartOperationInput extends Pick<EventInput, "actor" | "principal" | "ip_address" | "client"> {
  readonly org_id: string;
  readonly database_id: string | null;
  /** Undefined for an operation of a database as a whole. */
  readonly service_id?: string;
  /** `database.provision`, ...: an action of the audit log. */
  readonly kind: string;
  readonly target: string;
  readonly is_cancellable: boolean;
  readonly detail?: string;
}

export type OperationError = { readonly code: string; readonly detail: string; readonly hint: string | null };

/**
 * Creates an operation, in the transaction of the change that needs it. Its worker begins and ends it. Undefined if the
 * database has an open operation of that kind.
 */
export async function startOperation(deps: OperationDeps, input: StartOperationInput): Promise<string | undefined> {
  const { org_id: orgId, database_id: databaseId, kind, target, is_cancellable: isCancellable, actor } = input;
  const created = await deps.tx
    .insertInto("control.operations")
    .values({
      org_id: orgId,
      database_id: databaseId,
      kind,
      target,
      is_cancellable: isCancellable,
      actor,
      service_id: input.service_id ?? null,
      user_id: input.principal?.user_id ?? null,
      detail: input.detail ?? null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning("id")
    .executeTakeFirst();
  if (created === undefined) return undefined;
  await deps.recordEvent(deps.tx, {
    action: kind,
    target,
    org_id: orgId,
    actor,
    principal: input.principal,
    ip_address: input.ip_address,
    client: input.client,
    outcome: "pending",
    operation_id: created.id,
  });
  return created.id;
}

/**
 * Ends the open operations of a database as a whole, or of a service, as cancelled: one of `kind` takes their place. The
 * caller holds the row's lock.
 */
export async function replaceOpen(
  { recordEvent, tx }: OperationDeps,
  of: { readonly database_id: string } | { readonly service_id: string },
  by: Parameters<typeof doneBy>[0],
  kind: string,
): Promise<void> {
  const open = tx
    .updateTable("control.operations")
    .set({ state: "cancelled", ended_at: sql<Date>`now()` })
    .where("state", "in", ["pending", "running"]);
  const ofOne =
    "service_id" in of
      ? open.where("service_id", "=", of.service_id)
      : open.where("database_id", "=", of.database_id).where("service_id", "is", null);
  for (const ended of await ofOne.returning(["id", "kind", "target"]).execute()) {
    await recordEvent(tx, {
      action: "operation.cancel",
      target: ended.target,
      ...doneBy(by),
      operation_id: ended.id,
      detail: { kind: ended.kind, instead: kind },
    });
  }
}

/** Marks an operation as running. False if it has ended, for example by a cancellation. Safe to repeat. */
export async function beginOperation(tx: Tx, id: string): Promise<boolean> {
  const row = await tx
    .updateTable("control.operations")
    .set({ state: "running", started_at: sql<Date>`coalesce(started_at, now())` })
    .where("id", "=", id)
    .where("state", "in", ["pending", "running"])
    .returning("id")
    .executeTakeFirst();
  return row !== undefined;
}

/** Ends an operation once, with its event. False if it has already ended. */
export async function endOperation(
  deps: OperationDeps,
  id: string,
  ended: { readonly state: "succeeded" } | { readonly state: "failed"; readonly error: OperationError },
): Promise<boolean> {
  const error = ended.state === "failed" ? ended.error : null;
  const row: Pick<OperationRow, "kind" | "target" | "org_id"> | undefined = await deps.tx
    .updateTable("control.operations")
    .set({ state: ended.state, ended_at: sql<Date>`now()`, error: error === null ? null : JSON.stringify(error) })
    .where("id", "=", id)
    .where("state", "in", ["pending", "running"])
    .returning(["kind", "target", "org_id"])
    .executeTakeFirst();
  if (row === undefined) return false;
  await deps.recordEvent(deps.tx, {
    action: row.kind,
    target: row.target,
    org_id: row.org_id,
    ...BY_SYSTEM,
    outcome: ended.state,
    operation_id: id,
    detail: error === null ? {} : { code: error.code, detail: error.detail },
  });
  return true;
}
