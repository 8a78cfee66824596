import { join } from "node:path";
import type { PodLog, PodName } from "@appdb/pods/driver/pod-driver";
import { nameRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import { databasePaths, type PodServerPaths } from "./database-paths.ts";

/** A service of a database, by ids only. */
export interface ServiceLocation {
  readonly id: string;
  readonly database_id: string;
}

/** Where what belongs to one start of a service alone lies on this machine. */
export interface ServicePaths {
  readonly scratch_folder: string;
  readonly run_folder: string;
}

/** Name of the log folder in a service's folder. */
export const SERVICE_LOG = "log";

/** The folder of everything that a service stores. */
export function serviceFolder(serverPaths: PodServerPaths, { database_id: databaseId, id }: ServiceLocation): string {
  return join(servicesFolder(serverPaths, databaseId), id);
}

/** The folder of a database's services, each under its id. */
export function servicesFolder(serverPaths: PodServerPaths, databaseId: string): string {
  return databasePaths(serverPaths, databaseId).services_folder;
}

/** The paths of a service instance, from ids alone, so that a rename keeps them. @throws postgres_failed */
export function servicePaths(serverPaths: PodServerPaths, service: ServiceLocation, instance: number): ServicePaths {
  // the name used by version 0.8.0, to find what a killed server of that version left
  const namedBy = join(
    databasePaths(serverPaths, service.database_id).folder,
    "services",
    service.id,
    String(instance),
  );
  return {
    scratch_folder: join(serviceFolder(serverPaths, service), `scratch-${instance}`),
    run_folder: nameRuntimeFolder(namedBy, serverPaths.runtime_base),
  };
}

/** The pod of an instance of a service. */
export function servicePod({ database_id: databaseId, id }: ServiceLocation, instance: number): PodName {
  return { id: servicePodId(id, instance), database_id: databaseId };
}

/** The log that a pod writes. */
export function logOf({ database_id: databaseId, id }: PodName): PodLog {
  return { database_id: databaseId, service_id: parseServicePodId(id)?.service_id ?? null };
}

export function servicePodId(serviceId: string, instance: number): string {
  return `svc-${serviceId}-${instance}`;
}

/** The service and instance of a pod's id. Undefined if the pod does not belong to a service. */
export function parseServicePodId(id: string): { readonly service_id: string; readonly instance: number } | undefined {
  const [, serviceId, instance] = /^svc-([0-9a-f-]{36})-(\d+)$/.exec(id) ?? [];
  return serviceId === undefined ? undefined : { service_id: serviceId, instance: Number(instance) };
}
