import { socketDsn } from "@appdb/postgres/client/socket-dsn";
import { SOLE_DATABASE } from "@appdb/postgres/cluster/cluster-template";
import { servicePassword } from "@appdb/postgres/cluster/service-role";
import type { Secret } from "@appdb/system/secret";
import { type PodAddress, podClient } from "./pod-client.ts";

const DIGITS = 12;

/**
 * Makes the database's pod create a service's PostgreSQL role, if missing. A pod that listens answers once its
 * PostgreSQL runs.
 * @throws database_not_reached; the pod's refusals
 */
export async function ensurePodRole(pod: PodAddress, serviceId: string, signal: AbortSignal): Promise<void> {
  await podClient(pod).call("serviceRole", { body: { role: serviceRoleOf(serviceId) } }, { signal });
}

/** Removes the role of a removed service. @throws database_not_reached; the pod's refusals */
export async function dropPodRole(pod: PodAddress, serviceId: string, signal: AbortSignal): Promise<void> {
  await podClient(pod).call("serviceRoleDrop", { params: { role: serviceRoleOf(serviceId) } }, { signal });
}

/** The DSN of a service for its database's PostgreSQL, by the folder of the socket and the pod's token. */
export function serviceDsn(socketFolder: string, podToken: Secret, serviceId: string): string {
  const user = serviceRoleOf(serviceId);
  const password = servicePassword(podToken.reveal(), user);
  return socketDsn({ folder: socketFolder, database: SOLE_DATABASE, user, password });
}

/** Uses the random end of the id: its start is a time that concurrently created services share. */
export function serviceRoleOf(serviceId: string): string {
  return `svc_${serviceId.replaceAll("-", "").slice(-DIGITS)}`;
}
