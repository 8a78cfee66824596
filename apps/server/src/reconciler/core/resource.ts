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

/** A database or a service, read in one statement. */
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
  /** Open operations, oldest first. */
  readonly open: readonly OpenOperation[];
  /** Whether it failed because of the machine and its next start is due. */
  readonly is_retry_due?: boolean;
}

/** Events of both kinds of resources. */
export type CommonEvent = "retry" | "ready" | "start_failed" | "lost";

type ColumnsOf<Table> = Omit<Updateable<Table>, "state" | "retry_at"> & { retry_at?: RawBuilder<Date> | null };
export type ResourceColumns =
  | ColumnsOf<DatabaseTables["control.databases"]>
  | ColumnsOf<ServiceTables["control.services"]>;

/** The reconciler's description of a kind of resource: databases or services. */
export interface Resource<S extends Snapshot, Event extends string> {
  readonly kind: "database" | "service";
  readonly table: "control.databases" | "control.services";
  /** Key of the resource in log lines. */
  readonly log_key: "db" | "service";
  /** Undefined if the resource does not exist. */
  loadSnapshot(db: ControlDatabase, id: string): Promise<S | undefined>;
  nextState(state: ResourceState, event: Event | CommonEvent): ResourceState | undefined;
  enqueue(db: ControlDatabase | Tx, id: string, delayS?: number): Promise<void>;
  /** Notifications that may require work, with the payloads of this resource. */
  channels(snapshot: S): readonly (readonly [Channel, string | undefined])[];
  /** Further state whose change makes started work stale. */
  context?(snapshot: S): unknown;
  /** Replaces the id in an error by the name: pods and images know only the id. */
  nameFailure<Failure extends OperationError>(failure: Failure, uri: string): Failure;
  /** Columns that only a serving resource has. */
  readonly not_serving: ResourceColumns;
}

/** Reads the operations that `filter` selects from `control.operations p`, oldest first. */
export function selectOperations(filter: RawBuilder<unknown>): RawBuilder<OpenOperation[]> {
  return sql<OpenOperation[]>`(
    select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'kind', p.kind, 'state', p.state) order by p.id), '[]')
    from control.operations p where ${filter})`;
}

/** The operation that was requested last, which the reconciler works on. */
export function currentOperation({ open }: Pick<Snapshot, "open">): OpenOperation | undefined {
  return open.at(-1);
}

export interface Change<Event extends string> {
  readonly event: Event | CommonEvent;
  readonly set?: ResourceColumns;
  /** How the current operation ends. Undefined if it continues. */
  readonly end?: { readonly state: "succeeded" } | { readonly state: "failed"; readonly error: OperationError };
  /** Further changes of the transaction. */
  also?(tx: Tx): Promise<void>;
}

/**
 * Records an event of a resource and the end of its operation in one transaction. Returns false without a change if the
 * resource differs from the snapshot.
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

/** The next state. An event that the state does not allow is a bug. */
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

/** Locks the row. Returns false if its state or generation changed since the snapshot. */
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
 * Marks the current operation as running. Returns false if it has ended, for example by a cancellation. A new request
 * resets the count of failed starts.
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

/**
 * Counts consecutive failed starts, this one included, and stores its failure for people: the next start is tried later.
 * Undefined when the resource changed since the snapshot.
 */
export async function countFailedStart(
  resource: AnyResource,
  { db }: Pick<ReconcileDeps, "db">,
  snapshot: Snapshot,
  failure: OperationError,
): Promise<number | undefined> {
  return await db.transaction().execute(async (tx) => {
    if (!(await isUnchanged(resource, tx, snapshot))) return undefined;
    const { failed_starts: failedStarts } = await tx
      .updateTable(resource.table)
      // the gateway learns of changes that name the state
      .set(({ eb }) => ({
        failed_starts: eb("failed_starts", "+", 1),
        failure: JSON.stringify(failure),
        state: snapshot.row.state,
      }))
      .where("id", "=", snapshot.row.id)
      .returning("failed_starts")
      .executeTakeFirstOrThrow();
    return failedStarts;
  });
}
