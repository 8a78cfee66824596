import { serviceUriOf } from "@appdb/contract/control/resource-names";
import type { ServiceState } from "@appdb/contract/routes/control-services";
import { sql } from "kysely";
import { actorOf, type RecordEvent } from "../../audit/event.ts";
import type { Tx } from "../../database/pool.ts";
import type { DesiredService } from "../../database/service-tables.ts";
import { replaceOpen, startOperation } from "../../operations/run-operation.ts";
import { enqueueReconcileService } from "../../queue/jobs.ts";
import type { Caller } from "../keys/create-key.ts";

export interface ServiceChangeDeps {
  readonly tx: Tx;
  readonly recordEvent: RecordEvent;
}

/** The names of a service in operations and events. */
export interface NamedService {
  readonly id: string;
  readonly database_id: string;
  /** The database's name. */
  readonly database: string;
  /** The service's name within the database. */
  readonly name: string;
}

export interface WrittenServiceChange {
  /** The operation's kind: `service.stop`. */
  readonly kind: string;
  readonly state: ServiceState;
  readonly desired: DesiredService;
  /** Whether the service is removed once it has stopped. */
  readonly is_pruned?: boolean;
  /** The operation's text for people: what an update changes. */
  readonly detail?: string;
}

export interface BegunOperation {
  readonly id: string;
  readonly kind: string;
}

/**
 * Records a service's new desired state with its operation, event and job. An open operation ends as cancelled. The
 * caller holds the row's lock.
 */
export async function writeService(
  deps: ServiceChangeDeps,
  caller: Caller,
  service: NamedService,
  change: WrittenServiceChange,
): Promise<BegunOperation> {
  await replaceOpen(deps, { service_id: service.id }, caller, change.kind);
  await deps.tx
    .updateTable("control.services")
    .set({
      generation: sql<number>`generation + 1`,
      state: change.state,
      desired: JSON.stringify(change.desired),
      is_pruned: change.is_pruned ?? false,
      failure: null,
      failed_starts: 0,
    })
    .where("id", "=", service.id)
    .execute();
  return await beginWork(deps, caller, service, change);
}

/** Starts the work for a new service. */
export async function beginWork(
  deps: ServiceChangeDeps,
  { client, org, principal }: Caller,
  { database, database_id: databaseId, id: serviceId, name }: NamedService,
  { detail, kind }: Pick<WrittenServiceChange, "detail" | "kind">,
): Promise<BegunOperation> {
  await enqueueReconcileService(deps.tx, serviceId);
  const id = await startOperation(deps, {
    org_id: org.id,
    actor: actorOf(principal),
    principal,
    ...client,
    database_id: databaseId,
    service_id: serviceId,
    kind,
    target: serviceUriOf(org.name, database, name),
    is_cancellable: false,
    ...(detail === undefined ? {} : { detail }),
  });
  if (id === undefined) throw new Error("A locked service has an unexpected operation.");
  return { id, kind };
}
