import { type DatabaseEvent, nextDatabaseState } from "@appdb/contract/control/database-states";
import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { sql } from "kysely";
import type { DatabaseRow } from "../../control-plane/databases/databases-store.ts";
import type { DesiredDatabase, ObservedDatabase } from "../../database/desired.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import { enqueueReconcileDatabase } from "../../queue/jobs.ts";
import { nameDatabase } from "../core/failures.ts";
import { currentOperation, type OpenOperation, type Resource, selectOperations } from "../core/resource.ts";

/** A database, read in one statement. */
export interface DatabaseSnapshot {
  readonly row: DatabaseRow;
  readonly uri: string;
  /** The newest operation, open or ended. */
  readonly newest: OpenOperation | undefined;
  readonly open: readonly OpenOperation[];
  readonly is_retry_due?: boolean;
}

export const DATABASES: Resource<DatabaseSnapshot, DatabaseEvent> = {
  kind: "database",
  table: "control.databases",
  log_key: "db",
  loadSnapshot: loadDatabaseSnapshot,
  nextState: nextDatabaseState,
  enqueue: enqueueReconcileDatabase,
  channels: (snapshot) => [
    ["control_databases", snapshot.row.id],
    ["control_operations", currentOperation(snapshot)?.id],
  ],
  nameFailure: nameDatabase,
  not_serving: { awake_because: null },
};

/** Undefined if the database does not exist. */
async function loadDatabaseSnapshot(db: ControlDatabase, id: string): Promise<DatabaseSnapshot | undefined> {
  const found = await db
    .selectFrom("control.databases as d")
    .innerJoin("control.organizations as o", "o.id", "d.org_id")
    .selectAll("d")
    .select([
      "o.name as org_name",
      sql<boolean>`coalesce(d.retry_at <= now(), false)`.as("is_retry_due"),
      selectOperations(sql`p.database_id = d.id and p.service_id is null and (p.state in ('pending', 'running')
        or p.id = (select n.id from control.operations n where n.database_id = d.id and n.service_id is null order by n.id desc limit 1))`).as(
        "operations",
      ),
    ])
    .where("d.id", "=", id)
    .executeTakeFirst();
  if (found === undefined) return undefined;
  const { is_retry_due: isRetryDue, org_name: orgName, operations, ...row } = found;
  return {
    row,
    uri: databaseUriOf(orgName, row.name),
    newest: operations.at(-1),
    open: operations.filter(({ state }) => state === "pending" || state === "running"),
    is_retry_due: isRetryDue,
  };
}

export type DatabaseWork = "run" | "retry" | "settle" | "stop" | "remove";

/** The next work. Undefined if the database matches its desired state. */
export function chooseDatabaseWork(snapshot: DatabaseSnapshot): DatabaseWork | undefined {
  switch (snapshot.row.state) {
    case "PROVISIONING":
    case "UPDATING":
    case "STARTING":
      return "run";
    case "STOPPING":
      return "stop";
    case "DELETING":
      return "remove";
    case "STOPPED":
      return snapshot.open.length > 0 ? "stop" : undefined;
    case "AVAILABLE":
      return snapshot.open.length > 0 ? "settle" : undefined;
    case "FAILED":
      if (snapshot.open.length > 0) return "settle";
      return snapshot.is_retry_due === true ? "retry" : undefined;
  }
}

/**
 * What the pod must run: the desired state during an update, otherwise the previous state. A cancelled or failed update
 * does not change the desired state, and later starts do not apply it.
 */
export function desiredSpec({ row, open }: Pick<DatabaseSnapshot, "row" | "open">): ObservedDatabase {
  const { desired, observed } = row;
  if (observed === null || row.state === "PROVISIONING") return toObserved(desired);
  if (row.state === "UPDATING" && open.length > 0) return toObserved(desired);
  return { ...observed, restarts: desired.restarts };
}

/** Whether the database never ran because its creation was cancelled. */
export function isCancelledCreation({ row, newest }: Pick<DatabaseSnapshot, "row" | "newest">): boolean {
  return row.state === "PROVISIONING" && row.observed === null && newest?.state === "cancelled";
}

function toObserved({ is_awake: _, ...desired }: DesiredDatabase): ObservedDatabase {
  return desired;
}

/** Whether the pods of the database's services have other resources now. */
export function hasOtherPods(observed: ObservedDatabase | null, desired: ObservedDatabase): boolean {
  if (observed === null) return false;
  const { cpu, memory_mb: memoryMb } = observed.resources;
  return cpu !== desired.resources.cpu || memoryMb !== desired.resources.memory_mb;
}

/** Whether a running pod must restart: for another image, size or environment, or on request. Files need no restart. */
export function needsRestart(observed: ObservedDatabase | null, desired: ObservedDatabase): boolean {
  if (observed === null) return true;
  const partOf = ({ environment, builds, resources, restarts, settings }: ObservedDatabase) => [
    environment,
    builds,
    restarts,
    settings.db_input_media_dest,
    settings.db_output_media_dest,
    settings.db_media_sources ?? [],
    settings.media_gb ?? null,
    resources.cpu,
    resources.memory_mb,
    resources.disk_gb,
    resources.workers,
    Object.entries(settings.vars).sort(([a], [b]) => (a < b ? -1 : 1)),
  ];
  return JSON.stringify(partOf(observed)) !== JSON.stringify(partOf(desired));
}
