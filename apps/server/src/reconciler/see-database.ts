import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { sql } from "kysely";
import type { DatabaseRow } from "../control-plane/databases/store.ts";
import type { DesiredDatabase, ObservedDatabase } from "../database/desired.ts";
import type { Database } from "../database/pool.ts";

export interface SeenOperation {
  readonly id: string;
  readonly kind: string;
  readonly state: "pending" | "running" | "succeeded" | "failed" | "cancelled";
}

/** A database as one statement saw it. */
export interface SeenDatabase {
  readonly row: DatabaseRow;
  readonly uri: string;
  /** The newest of all, ended or not. */
  readonly newest: SeenOperation | undefined;
  /** Those that have not ended, the oldest first. */
  readonly open: readonly SeenOperation[];
  /** It failed because of the machine, and the time of another start has come. */
  readonly is_retry_due?: boolean;
}

/** Undefined when there is no such database any more. */
export async function seeDatabase(db: Database, id: string): Promise<SeenDatabase | undefined> {
  const found = await db
    .selectFrom("control.databases as d")
    .innerJoin("control.organizations as o", "o.id", "d.org_id")
    .selectAll("d")
    .select([
      "o.name as org_name",
      sql<boolean>`coalesce(d.retry_at <= now(), false)`.as("is_retry_due"),
      sql<SeenOperation[]>`(
        select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'kind', p.kind, 'state', p.state) order by p.id), '[]')
        from control.operations p where p.database_id = d.id and p.service_id is null and (p.state in ('pending', 'running')
          or p.id = (select n.id from control.operations n where n.database_id = d.id and n.service_id is null order by n.id desc limit 1)))`.as(
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

/** What is worked at: the operation that was asked for last. */
export function currentOperation({ open }: Pick<SeenDatabase, "open">): SeenOperation | undefined {
  return open.at(-1);
}

export type Work = "run" | "retry" | "stop" | "remove" | "settle";

/** What is to be done for a database in this state; undefined when it is what it shall be. */
export function chooseWork(seen: Pick<SeenDatabase, "row" | "open" | "is_retry_due">): Work | undefined {
  switch (seen.row.state) {
    case "PROVISIONING":
    case "UPDATING":
    case "STARTING":
      return "run";
    case "STOPPING":
      return "stop";
    case "DELETING":
      return "remove";
    case "STOPPED":
      return seen.open.length > 0 ? "stop" : undefined;
    case "AVAILABLE":
      return seen.open.length > 0 ? "settle" : undefined;
    case "FAILED":
      if (seen.open.length > 0) return "settle";
      return seen.is_retry_due === true ? "retry" : undefined;
  }
}

/**
 * What the pod is to run: what people asked for when that is what is worked at, else what it ran before. An update that was
 * cancelled or whose build failed leaves what was asked for as it is, and a later start does not carry it out.
 */
export function wantedOf({ row, open }: Pick<SeenDatabase, "row" | "open">): ObservedDatabase {
  const { desired, observed } = row;
  if (observed === null || row.state === "PROVISIONING") return toObserved(desired);
  if (row.state === "UPDATING" && open.length > 0) return toObserved(desired);
  return { ...observed, restarts: desired.restarts };
}

/** A database that never ran, and whose making was called off. */
export function isCancelledCreation({ row, newest }: Pick<SeenDatabase, "row" | "newest">): boolean {
  return row.state === "PROVISIONING" && row.observed === null && newest?.state === "cancelled";
}

function toObserved({ is_awake: _, ...wanted }: DesiredDatabase): ObservedDatabase {
  return wanted;
}

/** Whether a pod that runs has to be started anew: for another image, size or environment, or because it was asked for. Files are none:
 *  requests name the tree that they mean. */
export function needsRestart(observed: ObservedDatabase | null, wanted: ObservedDatabase): boolean {
  if (observed === null) return true;
  const partOf = ({ environment, builds, resources, restarts, settings }: ObservedDatabase) => [
    environment,
    builds,
    restarts,
    settings.db_input_media_dest,
    settings.db_output_media_dest,
    resources.cpu,
    resources.memory_mb,
    resources.disk_gb,
    resources.workers,
    Object.entries(settings.vars).sort(([a], [b]) => (a < b ? -1 : 1)),
  ];
  return JSON.stringify(partOf(observed)) !== JSON.stringify(partOf(wanted));
}
