import type { DatabaseState } from "@appdb/contract/routes/control-databases";
import type { ServiceState } from "@appdb/contract/routes/control-services";
import { type RawBuilder, sql, type Updateable } from "kysely";
import type { DatabaseTables } from "../../database/database-tables.ts";
import type { Channel } from "../../database/notifications.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import type { ServiceTables } from "../../database/service-tables.ts";
import { beginOperation, endOperation, type OperationError } from "../../operations/run-operation.ts";
import type { ReconcileDeps } from "./reconcile-deps.ts";

export interface OpenOperation {
  readonly id: string;
  readonly kind: string;
  readonly state: "pending" | "running" | "succeeded" | "failed" | "cancelled";
}

export type ResourceState = DatabaseState | ServiceState;

/** A database or a service as one statement read it. */
export interface Snapshot {
  readonly row: {
    readonly id: string;
    readonly org_id: string;
    readonly state: ResourceState;
    readonly generation: number;
    readonly failed_starts: number;
    readonly failure: OperationError | null;
  };
  readonly uri: string;
  /** Those that have not ended, the oldest first. */
  readonly open: readonly OpenOperation[];
  /** It failed because of the machine, and the time of the next start has come. */
  readonly is_retry_due?: boolean;
}

/** What both kinds of resources meet. */
export type CommonEvent = "retry" | "ready" | "start_failed" | "lost";

type ColumnsOf<Table> = Omit<Updateable<Table>, "state" | "retry_at"> & { retry_at?: RawBuilder<Date> | null };
export type ResourceColumns =
  | ColumnsOf<DatabaseTables["control.databases"]>
  | ColumnsOf<ServiceTables["control.services"]>;

/** What the reconciler knows of a kind of resource: databases or services. */
export interface Resource<S extends Snapshot, Event extends string> {
  readonly kind: "database" | "service";
  readonly table: "control.databases" | "control.services";
  /** Names the resource in log lines. */
  readonly log_key: "db" | "service";
  /** Undefined when the resource is gone. */
  loadSnapshot(db: ControlDatabase, id: string): Promise<S | undefined>;
  nextState(state: ResourceState, event: Event | CommonEvent): ResourceState | undefined;
  enqueue(db: ControlDatabase | Tx, id: string, delayS?: number): Promise<void>;
  /** Notifications that may change what is to be done, with the payload of those that concern the resource. */
  channels(snapshot: S): readonly (readonly [Channel, string | undefined])[];
  /** What else makes started work stale when it changes. */
  context?(snapshot: S): unknown;
  /** Replaces the placeholders of an error: pods and images know the resource only by its id. */
  nameFailure<Failure extends OperationError>(failure: Failure, uri: string): Failure;
  /** Columns that only a resource that serves has. */
  readonly not_serving: ResourceColumns;
}

/** Reads the operations that `filter` selects from `control.operations p`, the oldest first. */
export function selectOperations(filter: RawBuilder<unknown>): RawBuilder<OpenOperation[]> {
  return sql<OpenOperation[]>`(
    select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'kind', p.kind, 'state', p.state) order by p.id), '[]')
    from control.operations p where ${filter})`;
}

/** The operation that was asked for last. The reconciler works at that one. */
export function currentOperation({ open }: Pick<Snapshot, "open">): OpenOperation | undefined {
  return open.at(-1);
}

export interface Change<Event extends string> {
  readonly event: Event | CommonEvent;
  readonly set?: ResourceColumns;
  /** How the current operation ends; it continues when this is left out. */
  readonly end?: { readonly state: "succeeded" } | { readonly state: "failed"; readonly error: OperationError };
  /** What else belongs into the transaction. */
  also?(tx: Tx): Promise<void>;
}

/**
 * Records an event of a resource, in one transaction with the end of its operation. Returns false and changes nothing when the resource
 * is no longer as the snapshot has it.
 */
export async function applyChange<S extends Snapshot, Event extends string>(
  resource: Resource<S, Event>,
  { db, recordEvent }: Pick<ReconcileDeps, "db" | "recordEvent">,
  snapshot: S,
  change: Change<Event>,
): Promise<boolean> {
  return await db.transaction().execute(async (tx) => {
    if (!(await isUnchanged(resource, tx, snapshot))) return false;
    const state = stateAfter(resource, snapshot.row.state, change.event);
    await tx
      .updateTable(resource.table)
      .set({ ...change.set, state })
      .where("id", "=", snapshot.row.id)
      .execute();
    await change.also?.(tx);
    const operation = currentOperation(snapshot);
    if (operation !== undefined && change.end !== undefined) {
      await endOperation({ tx, recordEvent }, operation.id, change.end);
    }
    return true;
  });
}

/** The state that follows. An event that the state does not allow is a bug. */
export function stateAfter<S extends Snapshot, Event extends string>(
  resource: Resource<S, Event>,
  from: ResourceState,
  event: Event | CommonEvent,
): ResourceState {
  const state = resource.nextState(from, event);
  if (state === undefined) throw new Error(`The event ${event} is not possible in the state ${from}.`);
  return state;
}

type AnyResource = Pick<Resource<never, never>, "table">;

/** Locks the row. Returns false when its state or desired state changed since the snapshot: every request raises the generation. */
export async function isUnchanged({ table }: AnyResource, tx: Tx, { row }: Snapshot): Promise<boolean> {
  const now = await tx
    .selectFrom(table)
    .select(["state", "generation"])
    .where("id", "=", row.id)
    .forUpdate()
    .executeTakeFirst();
  return now?.state === row.state && now.generation === row.generation;
}

/**
 * Marks the current operation as running. Returns false when it has ended, for example because it was cancelled. A new request starts
 * the count of failed starts from zero.
 */
export async function begin(
  { table }: AnyResource,
  { db }: Pick<ReconcileDeps, "db">,
  snapshot: Snapshot,
): Promise<boolean> {
  const operation = currentOperation(snapshot);
  if (operation === undefined) return true;
  return await db.transaction().execute(async (tx) => {
    if (!(await beginOperation(tx, operation.id))) return false;
    if (operation.state === "pending") {
      await tx.updateTable(table).set({ failed_starts: 0 }).where("id", "=", snapshot.row.id).execute();
    }
    return true;
  });
}

/** Counts consecutive failed starts, this one included. Undefined when the resource changed since the snapshot. */
export async function countFailedStart(
  resource: AnyResource,
  { db }: Pick<ReconcileDeps, "db">,
  snapshot: Snapshot,
): Promise<number | undefined> {
  return await db.transaction().execute(async (tx) => {
    if (!(await isUnchanged(resource, tx, snapshot))) return undefined;
    const { failed_starts: failedStarts } = await tx
      .updateTable(resource.table)
      .set(({ eb }) => ({ failed_starts: eb("failed_starts", "+", 1) }))
      .where("id", "=", snapshot.row.id)
      .returning("failed_starts")
      .executeTakeFirstOrThrow();
    return failedStarts;
  });
}
