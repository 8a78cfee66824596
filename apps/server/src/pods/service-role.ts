import { socketDsn } from "@appdb/postgres/client/socket-dsn";
import { SOLE_DATABASE } from "@appdb/postgres/cluster/cluster-template";
import { servicePassword } from "@appdb/postgres/cluster/service-role";
import type { Secret } from "@appdb/system/secret";
import { type PodAddress, podClient } from "./pod-client.ts";

const DIGITS = 12;

/**
 * Has the database's pod make the role of PostgreSQL that a service connects as, if there is none. A pod that listens answers once its
 * PostgreSQL is there.
 * @throws database_not_reached; what the pod refuses it with
 */
export async function ensurePodRole(pod: PodAddress, serviceId: string, signal: AbortSignal): Promise<void> {
  await podClient(pod).call("serviceRole", { body: { role: serviceRoleOf(serviceId) } }, { signal });
}

/** Has it removed again, once the service is gone. @throws database_not_reached; what the pod refuses it with */
export async function dropPodRole(pod: PodAddress, serviceId: string, signal: AbortSignal): Promise<void> {
  await podClient(pod).call("serviceRoleDrop", { params: { role: serviceRoleOf(serviceId) } }, { signal });
}

/** How a service connects to its database's PostgreSQL, whose socket lies in this folder, once the pod of that token made its role. */
export function serviceDsn(socketFolder: string, podToken: Secret, serviceId: string): string {
  const user = serviceRoleOf(serviceId);
  const password = servicePassword(podToken.reveal(), user);
  return socketDsn({ folder: socketFolder, database: SOLE_DATABASE, user, password });
}

/** By the end of the id, which is chance: it begins with a time, which services that are made together share. */
export function serviceRoleOf(serviceId: string): string {
  return `svc_${serviceId.replaceAll("-", "").slice(-DIGITS)}`;
}
