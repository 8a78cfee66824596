import { adviseOn } from "@appdb/contract/control/database-advice";
import { databaseUriOf, serviceUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { HostedServiceChange } from "@appdb/contract/routes/control-services";
import { type DatabaseRow, databaseNotFound, lockDatabase, type OrgOfDatabases } from "../databases/databases-store.ts";
import type { Caller } from "../keys/create-key.ts";
import { type LockedService, lockService } from "./lock-services.ts";
import { findService, type ServiceStoreDeps, serviceNotFound } from "./services-store.ts";
import { requestServiceState } from "./state.ts";
import { type BegunOperation, type ServiceChangeDeps, writeService } from "./write-service.ts";

/** Requests to a service other than updates. */
export type ServiceVerb = "restart" | "stop" | "retry";

export interface ServiceRequestDeps extends ServiceChangeDeps, Pick<ServiceStoreDeps, "config"> {}

/**
 * Records a request to a service. Does nothing if the service is already stopped as requested.
 * @throws database_not_found, database_not_available, service_not_found, service_state
 */
export async function requestService(
  deps: ServiceRequestDeps,
  caller: Caller,
  target: { readonly database: string; readonly name: string },
  verb: ServiceVerb,
): Promise<HostedServiceChange> {
  const { org } = caller;
  const { database, service } = await lockTarget(deps, org, target);
  const uri = serviceUriOf(org.name, database.name, service.name);
  const state = requestServiceState(uri, service.state, verb);
  if (verb === "stop" && service.state === "STOPPED" && !service.desired.is_running)
    return await answerChange(deps, org, target, null);
  if (verb !== "stop") requireAwake(org, database);
  const { desired } = service;
  const isRunning = verb !== "stop";
  const restarts = desired.restarts + (isRunning ? 1 : 0);
  const named = { ...service, database: database.name };
  const change = { kind: `service.${verb}`, state, desired: { ...desired, is_running: isRunning, restarts } };
  return await answerChange(deps, org, target, await writeService(deps, caller, named, change));
}

/** Locks a database and one of its services. @throws database_not_found; service_not_found, also during its removal */
export async function lockTarget(
  { tx }: Pick<ServiceChangeDeps, "tx">,
  org: OrgOfDatabases,
  target: { readonly database: string; readonly name: string },
): Promise<{ readonly database: DatabaseRow; readonly service: LockedService }> {
  const database = await lockDatabase(tx, org.id, target.database);
  if (database === undefined) throw databaseNotFound(org, target.database);
  const service = await lockService(tx, database.id, target.name);
  if (service === undefined || service.is_pruned)
    throw serviceNotFound(databaseUriOf(org.name, database.name), target.name);
  return { database, service };
}

/** @throws database_not_available with the next command */
export function requireAwake(org: OrgOfDatabases, { name, state }: Pick<DatabaseRow, "name" | "state">): void {
  if (state === "AVAILABLE") return;
  const uri = databaseUriOf(org.name, name);
  throw appError("database_not_available", {
    detail: `${uri} is ${state}; it must be AVAILABLE to start its services.`,
    hint: adviseOn(state, uri),
    meta: { uri, state },
  });
}

export async function answerChange(
  { config, tx }: Pick<ServiceRequestDeps, "config" | "tx">,
  org: OrgOfDatabases,
  { database, name }: { readonly database: string; readonly name: string },
  operation: BegunOperation | null,
): Promise<HostedServiceChange> {
  return { service: await findService({ db: tx, config }, org, database, name), operation };
}
