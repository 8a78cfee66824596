import { join } from "node:path";
import { nameRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import { databasePaths, type PodServerPaths } from "./database-paths.ts";

/** A service of a database, by ids only. */
export interface ServiceLocation {
  readonly id: string;
  readonly database_id: string;
}

/** The paths of one service instance on this machine. */
export interface ServicePaths {
  readonly pod_id: string;
  /** The service's folder, shared by its instances. */
  readonly folder: string;
  /** Shared by all instances. */
  readonly log_folder: string;
  /** Owned by the instance and removed with it. */
  readonly scratch_folder: string;
  readonly run_folder: string;
  /** Socket of the pod's API. */
  readonly socket: string;
  /** Socket of its routes over plain HTTP. */
  readonly http_socket: string;
  readonly link_socket: string;
}

/** Name of the log folder in a service's folder. */
export const SERVICE_LOG = "log";

/** The folder of everything that a service stores. */
export function serviceFolder(place: PodServerPaths, { database_id: databaseId, id }: ServiceLocation): string {
  return join(servicesFolder(place, databaseId), id);
}

/** The folder of a database's services, each under its id. */
export function servicesFolder(place: PodServerPaths, databaseId: string): string {
  return databasePaths(place, databaseId).services_folder;
}

/** The paths of a service instance, from ids alone, so that a rename keeps them. @throws postgres_failed */
export function servicePaths(place: PodServerPaths, service: ServiceLocation, instance: number): ServicePaths {
  const folder = serviceFolder(place, service);
  // the name used by version 0.8.0, to find what a killed server of that version left
  const namedBy = join(databasePaths(place, service.database_id).folder, "services", service.id, String(instance));
  const runFolder = nameRuntimeFolder(namedBy, place.runtime_base);
  return {
    pod_id: servicePodId(service.id, instance),
    folder,
    log_folder: join(folder, SERVICE_LOG),
    scratch_folder: join(folder, `scratch-${instance}`),
    run_folder: runFolder,
    socket: join(runFolder, "pod.sock"),
    http_socket: join(runFolder, "http.sock"),
    link_socket: join(runFolder, "link.sock"),
  };
}

export function servicePodId(serviceId: string, instance: number): string {
  return `svc-${serviceId}-${instance}`;
}

/** The service and instance of a pod's id. Undefined if the pod does not belong to a service. */
export function parseServicePodId(id: string): { readonly service_id: string; readonly instance: number } | undefined {
  const [, serviceId, instance] = /^svc-([0-9a-f-]{36})-(\d+)$/.exec(id) ?? [];
  return serviceId === undefined ? undefined : { service_id: serviceId, instance: Number(instance) };
}
