import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { nextServiceState, type ServiceEvent } from "@appdb/contract/control/service-states";
import type { DatabaseState } from "@appdb/contract/routes/control-databases";
import { type Selectable, sql } from "kysely";
import type { ObservedDatabase } from "../../database/desired.ts";
import type { ControlDatabase } from "../../database/pool.ts";
import type { DesiredService, ServiceTables } from "../../database/service-tables.ts";
import { enqueueReconcileService } from "../../queue/jobs.ts";
import { type OpenOperation, type Resource, selectOperations } from "../core/resource.ts";

export type ServiceRow = Selectable<ServiceTables["control.services"]>;

/** A service and its database, read in one statement. */
export interface ServiceSnapshot {
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
  readonly open: readonly OpenOperation[];
  readonly is_retry_due?: boolean;
}

export const SERVICES: Resource<ServiceSnapshot, ServiceEvent> = {
  kind: "service",
  table: "control.services",
  log_key: "service",
  loadSnapshot: loadServiceSnapshot,
  nextState: nextServiceState,
  enqueue: enqueueReconcileService,
  channels: ({ database }) => [
    ["control_databases", database.id],
    ["control_service_routes", database.id],
  ],
  context: ({ database }) => !IS_UP.includes(database.state),
  nameFailure(failure, uri) {
    const target = uri.slice(0, uri.lastIndexOf("/"));
    const name = (text: string) => text.replaceAll("<service_uri>", uri).replaceAll("<target>", target);
    return { ...failure, detail: name(failure.detail), hint: failure.hint === null ? null : name(failure.hint) };
  },
  not_serving: {},
};

/** Undefined if the service does not exist. */
export async function loadServiceSnapshot(db: ControlDatabase, id: string): Promise<ServiceSnapshot | undefined> {
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
      selectOperations(sql`p.service_id = s.id and p.state in ('pending', 'running')`).as("open"),
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

/** States in which a database's PostgreSQL runs, or returns automatically: its services keep their pods. */
export const IS_UP: readonly DatabaseState[] = ["AVAILABLE", "UPDATING", "STARTING"];

/** The parts of the desired state that an instance starts with. */
export type ServiceSpec = Pick<DesiredService, "release" | "restarts">;

export function desiredServiceSpec({ row }: Pick<ServiceSnapshot, "row">): ServiceSpec {
  const { release, restarts } = row.desired;
  return { release, restarts };
}

/** Whether the serving instance differs from the desired one. */
export function needsInstance({ row }: Pick<ServiceSnapshot, "row">): boolean {
  const { desired, observed } = row;
  return observed === null || observed.release !== desired.release || observed.restarts !== desired.restarts;
}

/** The identity of a database in key snapshots. */
export function keyedDatabaseOf({ database, organization, row }: ServiceSnapshot) {
  return { id: database.id, org_id: row.org_id, organization, name: database.name };
}
