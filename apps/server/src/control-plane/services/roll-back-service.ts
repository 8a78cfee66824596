import { databaseUriOf, serviceUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { HostedServiceChange, HostedServiceRollbackPlan } from "@appdb/contract/routes/control-services";
import type { Tx } from "../../database/pool.ts";
import { findRow, type OrgOfDatabases } from "../databases/databases-store.ts";
import type { FindPodDeps } from "../databases/find-pod.ts";
import type { Caller } from "../keys/create-key.ts";
import { type CheckedRelease, checkRelease, planReturn, refuseIncompatible, releaseOf } from "./check-release.ts";
import { type LockedService, readService } from "./lock-services.ts";
import { findReleaseBefore, listReleaseNumbers } from "./releases.ts";
import { answerChange, lockTarget, requireAwake, type ServiceRequestDeps } from "./request-service.ts";
import { requestServiceState } from "./state.ts";
import { writeService } from "./write-service.ts";

interface ServicePlace {
  readonly database: string;
  readonly name: string;
}

/**
 * Compares the requested release with the tables before the transaction. Undefined if the request does nothing or fails
 * for another reason.
 * @throws database_not_reached
 */
export async function checkRollback(
  deps: FindPodDeps,
  org: OrgOfDatabases,
  { database: name, name: serviceName }: ServicePlace,
  releaseNumber: number | null,
  signal: AbortSignal,
): Promise<CheckedRelease | undefined> {
  const database = await findRow(deps.db, org.id, name);
  if (database?.state !== "AVAILABLE") return undefined;
  const service = await readService(deps.db, database.id, serviceName);
  if (service === undefined) return undefined;
  const number = releaseNumber ?? (await findReleaseBefore(deps.db, service.id, releaseOf(service)));
  if (number === undefined || isServed(service, number)) return undefined;
  return await checkRelease(deps, org, name, service, number, signal);
}

/**
 * Plans a rollback without changing anything.
 * @throws database_not_found, database_not_available, service_not_found, release_not_found, generation_moved
 */
export async function planServiceRollback(
  deps: Pick<ServiceRequestDeps, "tx" | "config">,
  { org }: Caller,
  target: ServicePlace,
  release: number | null,
  checked: CheckedRelease | undefined,
): Promise<HostedServiceRollbackPlan> {
  const { database, service } = await lockTarget(deps, org, target);
  const uri = serviceUriOf(org.name, database.name, service.name);
  requireAwake(org, database);
  const from = releaseOf(service);
  const to = await chooseRelease(deps.tx, uri, service, release);
  if (isServed(service, to)) return { from, to, ops: [] };
  if (checked?.release !== to) throw stateChanged(uri);
  return { from, to, ops: planReturn(service, { from, to }, checked, databaseUriOf(org.name, database.name)) };
}

/**
 * Rolls a service back to the given release, or to the last one that served before the current one.
 * @throws database_not_found, database_not_available, service_not_found, release_not_found, schema_mismatch,
 * generation_moved, service_state
 */
export async function rollBackService(
  deps: ServiceRequestDeps,
  caller: Caller,
  target: ServicePlace,
  release: number | null,
  checked: CheckedRelease | undefined,
): Promise<HostedServiceChange> {
  const { org } = caller;
  const { database, service } = await lockTarget(deps, org, target);
  const uri = serviceUriOf(org.name, database.name, service.name);
  requireAwake(org, database);
  const number = await chooseRelease(deps.tx, uri, service, release);
  const { desired } = service;
  if (isServed(service, number)) return await answerChange(deps, org, target, null);
  if (checked?.release !== number) throw stateChanged(uri);
  refuseIncompatible(org, database.name, service, checked);
  const state = requestServiceState(uri, service.state, "update");
  const named = { ...service, database: database.name };
  const operation = await writeService(deps, caller, named, {
    kind: "service.rollback",
    state,
    desired: { ...desired, release: number, is_running: true },
    detail: `from release ${releaseOf(service)} to release ${number}`,
  });
  return await answerChange(deps, org, target, operation);
}

async function chooseRelease(
  tx: Tx,
  uri: string,
  service: LockedService,
  releaseNumber: number | null,
): Promise<number> {
  const current = releaseOf(service);
  const releases = await listReleaseNumbers(tx, service.id);
  const chosen = releaseNumber ?? (await findReleaseBefore(tx, service.id, current));
  if (chosen !== undefined && releases.includes(chosen)) return chosen;
  throw appError("release_not_found", {
    detail:
      releaseNumber === null
        ? `${uri} has no release before release ${current} that ever served.`
        : `${uri} has no release ${releaseNumber}; it has ${releases.join(", ")}.`,
    hint: `List its releases: cli service releases ${uri}`,
    meta: { uri, release: releaseNumber, kept: releases },
  });
}

function isServed({ desired, observed }: LockedService, release: number): boolean {
  return desired.release === release && observed?.release === release && desired.is_running;
}

function stateChanged(uri: string): Error {
  return appError("generation_moved", {
    detail: `${uri} or its database changed while the previous release was compared with the tables.`,
    hint: `See its current release: cli service releases ${uri}`,
    meta: { uri },
  });
}
