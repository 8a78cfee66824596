import { databaseUriOf } from "@appdb/contract/control/resource-names";
import type { DatabaseState } from "@appdb/contract/routes/control-databases";
import { type Selectable, sql } from "kysely";
import type { ObservedDatabase } from "../database/desired.ts";
import type { Database } from "../database/pool.ts";
import type { DesiredService, ServiceTables } from "../database/service-tables.ts";
import type { SeenOperation } from "./see-database.ts";

export type ServiceRow = Selectable<ServiceTables["control.services"]>;

/** A service and its database, as one statement saw them. */
export interface SeenService {
  readonly row: ServiceRow;
  readonly organization: string;
  readonly database: {
    readonly id: string;
    readonly name: string;
    readonly uri: string;
    readonly state: DatabaseState;
    readonly observed: ObservedDatabase | null;
  };
  /** `cloud://acme:main/ingest` */
  readonly uri: string;
  /** Operations that have not ended, the oldest first. */
  readonly open: readonly SeenOperation[];
  /** It failed because of the machine, and the time of another start has come. */
  readonly is_retry_due?: boolean;
}

/** Undefined when there is no such service any more. */
export async function seeService(db: Database, id: string): Promise<SeenService | undefined> {
  const found = await db
    .selectFrom("control.services as s")
    .innerJoin("control.databases as d", "d.id", "s.database_id")
    .innerJoin("control.organizations as o", "o.id", "s.org_id")
    .selectAll("s")
    .select([
      "o.name as organization",
      sql<boolean>`coalesce(s.retry_at <= now(), false)`.as("is_retry_due"),
      "d.name as database_name",
      "d.state as database_state",
      "d.observed as database_observed",
      sql<SeenOperation[]>`(
        select coalesce(jsonb_agg(jsonb_build_object('id', p.id, 'kind', p.kind, 'state', p.state) order by p.id), '[]')
        from control.operations p where p.service_id = s.id and p.state in ('pending', 'running'))`.as("open"),
    ])
    .where("s.id", "=", id)
    .executeTakeFirst();
  if (found === undefined) return undefined;
  const {
    database_name: databaseName,
    database_observed: databaseObserved,
    database_state: databaseState,
    is_retry_due: isRetryDue,
    open,
    organization,
    ...row
  } = found;
  const uri = databaseUriOf(organization, databaseName);
  return {
    row,
    organization,
    open,
    is_retry_due: isRetryDue,
    uri: `${uri}/${row.name}`,
    database: { id: row.database_id, name: databaseName, uri, state: databaseState, observed: databaseObserved },
  };
}

/** What is worked at: the operation that was asked for last. */
export function currentServiceOperation({ open }: Pick<SeenService, "open">): SeenOperation | undefined {
  return open.at(-1);
}

export type ServiceWork = "run" | "retry" | "wake" | "tidy" | "settle" | "stop" | "sleep" | "remove";

/** Databases whose PostgreSQL runs, or comes back by itself: their services are left alone meanwhile. */
export const IS_UP: readonly DatabaseState[] = ["AVAILABLE", "UPDATING", "STARTING"];
/** Those with which services start that sleep. */
const COMES: readonly DatabaseState[] = ["AVAILABLE", "STARTING"];

/** What is to be done for a service; undefined when it is what it shall be. */
export function chooseServiceWork(
  seen: Pick<SeenService, "row" | "open" | "database" | "is_retry_due">,
): ServiceWork | undefined {
  const { database, open, row } = seen;
  if (row.is_pruned) return "remove";
  const isUp = IS_UP.includes(database.state);
  switch (row.state) {
    case "DEPLOYING":
    case "STARTING":
    case "UPDATING":
      return isUp ? "run" : "sleep";
    case "STOPPING":
      return "stop";
    case "STOPPED":
      if (open.length > 0) return isUp ? "stop" : "sleep";
      return COMES.includes(database.state) && row.desired.is_running ? "wake" : undefined;
    case "AVAILABLE":
      if (!isUp) return "sleep";
      return open.length > 0 ? "settle" : "tidy";
    case "FAILED":
      if (open.length > 0) return "settle";
      return seen.is_retry_due === true && database.state === "AVAILABLE" ? "retry" : undefined;
  }
}

/** What its pod is to be started for. */
export type WantedService = Pick<DesiredService, "release" | "restarts">;

export function wantedServiceOf({ row }: Pick<SeenService, "row">): WantedService {
  const { release, restarts } = row.desired;
  return { release, restarts };
}

/** Whether the instance that serves is not the one that shall. */
export function needsInstance({ row }: Pick<SeenService, "row">): boolean {
  const { desired, observed } = row;
  return observed === null || observed.release !== desired.release || observed.restarts !== desired.restarts;
}
