import { join } from "node:path";
import { nameRuntimeFolder } from "@appdb/postgres/cluster/runtime-folder";
import { databasePaths, type PodServerPaths } from "./database-paths.ts";

/** A service of a database, by ids alone. */
export interface ServiceLocation {
  readonly id: string;
  readonly database_id: string;
}

/** Where what belongs to one start of a service lies on this machine. */
export interface ServicePaths {
  readonly pod_id: string;
  /** Of the service, over all its instances. */
  readonly folder: string;
  /** Kept from one instance to the next. */
  readonly log_folder: string;
  /** Of the instance alone; goes with it. */
  readonly scratch_folder: string;
  readonly run_folder: string;
  /** Of the pod's API. */
  readonly socket: string;
  /** Of its routes by plain HTTP. */
  readonly http_socket: string;
  readonly link_socket: string;
}

/** Of a service's folder: its log. */
export const SERVICE_LOG = "log";

/** Where all that a service leaves behind lies. */
export function serviceFolder(place: PodServerPaths, { database_id: databaseId, id }: ServiceLocation): string {
  return join(servicesFolder(place, databaseId), id);
}

/** Where the services of a database have their folders, each under its id. */
export function servicesFolder(place: PodServerPaths, databaseId: string): string {
  return databasePaths(place, databaseId).services_folder;
}

/** Names the places of an instance of a service, by ids alone: they stay where they are whatever is renamed. @throws postgres_failed */
export function servicePaths(place: PodServerPaths, service: ServiceLocation, instance: number): ServicePaths {
  const folder = serviceFolder(place, service);
  // the name that version 0.8.0 gave it: what a killed server of that version left is found by it
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

/** Which instance of which service a pod is; undefined for what is no pod of a service. */
export function parseServicePodId(id: string): { readonly service_id: string; readonly instance: number } | undefined {
  const [, serviceId, instance] = /^svc-([0-9a-f-]{36})-(\d+)$/.exec(id) ?? [];
  return serviceId === undefined ? undefined : { service_id: serviceId, instance: Number(instance) };
}
