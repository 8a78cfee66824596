import { databaseUriOf } from "@appdb/contract/control/resource-names";
import type { DatabaseChange, DatabaseState } from "@appdb/contract/routes/control-databases";
import { type RawBuilder, sql } from "kysely";
import { actorOf, type RecordEvent } from "../../audit/event.ts";
import type { DesiredDatabase } from "../../database/desired.ts";
import type { Tx } from "../../database/pool.ts";
import { replaceOpen, startOperation } from "../../operations/run-operation.ts";
import { enqueueReconcileDatabase } from "../../queue/jobs.ts";
import type { Caller } from "../keys/create-key.ts";
import { type DatabaseRow, findDatabase } from "./databases-store.ts";

/** Operations that may take minutes. From some step on they cannot be cancelled. */
const CANCELLABLE: readonly string[] = ["database.provision", "database.update", "database.build"];

export interface DatabaseChangeDeps {
  readonly tx: Tx;
  readonly recordEvent: RecordEvent;
}

export interface WrittenChange {
  /** The operation's kind: `database.stop`. */
  readonly kind: string;
  readonly state: DatabaseState;
  readonly desired: DesiredDatabase;
  /** When its storage is removed. Null if the database is not being deleted. */
  readonly purge_at?: RawBuilder<Date> | null;
  /** The operation's text for people: what an update changes. */
  readonly detail?: string;
}

/**
 * Records a new desired state with its operation, event and job. An open operation ends as cancelled. The caller holds
 * the row's lock.
 */
export async function writeChange(
  deps: DatabaseChangeDeps,
  caller: Caller,
  row: Pick<DatabaseRow, "id" | "name">,
  change: WrittenChange,
): Promise<DatabaseChange> {
  await replaceOpen(deps, { database_id: row.id }, caller, change.kind);
  await deps.tx
    .updateTable("control.databases")
    .set({
      generation: sql<number>`generation + 1`,
      state: change.state,
      desired: JSON.stringify(change.desired),
      purge_at: change.purge_at ?? null,
      failure: null,
    })
    .where("id", "=", row.id)
    .execute();
  return await beginWork(deps, caller, row, change);
}

/** Creates a database with the operation, event and job that provision it. The caller holds the organization's lock. */
export async function createChange(
  deps: DatabaseChangeDeps,
  caller: Caller,
  change: { readonly name: string; readonly desired: DesiredDatabase; readonly detail: string },
): Promise<DatabaseChange> {
  const { desired, detail, name } = change;
  const { id } = await deps.tx
    .insertInto("control.databases")
    .values({ org_id: caller.org.id, name, state: "PROVISIONING", desired: JSON.stringify(desired) })
    .returning("id")
    .executeTakeFirstOrThrow();
  return await beginWork(deps, caller, { id, name }, { kind: "database.provision", detail });
}

async function beginWork(
  deps: DatabaseChangeDeps,
  caller: Caller,
  row: Pick<DatabaseRow, "id" | "name">,
  { detail, kind }: Pick<WrittenChange, "detail" | "kind">,
): Promise<DatabaseChange> {
  const { tx } = deps;
  const { org, principal, client } = caller;
  await enqueueReconcileDatabase(tx, row.id);
  const id = await startOperation(deps, {
    org_id: org.id,
    actor: actorOf(principal),
    principal,
    ...client,
    database_id: row.id,
    kind,
    target: databaseUriOf(org.name, row.name),
    is_cancellable: CANCELLABLE.includes(kind),
    ...(detail === undefined ? {} : { detail }),
  });
  if (id === undefined) throw new Error("A locked database has an unexpected operation.");
  return { database: await findDatabase(tx, org, row.name), operation: { id, kind } };
}

/** The answer to a request that changes nothing. */
export async function nothingToDo(
  { tx }: Pick<DatabaseChangeDeps, "tx">,
  { org }: Caller,
  name: string,
): Promise<DatabaseChange> {
  return { database: await findDatabase(tx, org, name), operation: null };
}
