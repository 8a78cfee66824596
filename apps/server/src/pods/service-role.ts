import { dirname } from "node:path";
import type { PodEndpoint } from "@appdb/pods/driver/pod-driver";
import { socketDsn, tcpDsn } from "@appdb/postgres/client/socket-dsn";
import { SOLE_DATABASE } from "@appdb/postgres/cluster/cluster-template";
import { servicePassword } from "@appdb/postgres/cluster/service-role";
import type { Secret } from "@appdb/system/secret";
import { type DatabaseAddress, podClient } from "./pod-client.ts";

const DIGITS = 12;

/**
 * Makes the database's pod create a service's PostgreSQL role, if missing. A pod that listens answers once its
 * PostgreSQL runs.
 * @throws database_not_reached; the pod's refusals
 */
export async function ensurePodRole(pod: DatabaseAddress, serviceId: string, signal: AbortSignal): Promise<void> {
  await podClient(pod).call("serviceRole", { body: { role: serviceRoleOf(serviceId) } }, { signal });
}

/** Removes the role of a removed service. @throws database_not_reached; the pod's refusals */
export async function dropPodRole(pod: DatabaseAddress, serviceId: string, signal: AbortSignal): Promise<void> {
  await podClient(pod).call("serviceRoleDrop", { params: { role: serviceRoleOf(serviceId) } }, { signal });
}

/** How a service connects to its database's PostgreSQL, once the pod of that token made its role. */
export function serviceDsn(postgres: PodEndpoint, podToken: Secret, serviceId: string): string {
  const user = serviceRoleOf(serviceId);
  const password = servicePassword(podToken.reveal(), user);
  const login = { database: SOLE_DATABASE, user, password };
  if (postgres.kind === "tcp") return tcpDsn({ ...login, host: postgres.host, port: postgres.port });
  return socketDsn({ ...login, folder: dirname(postgres.path) });
}

/** Uses the random end of the id: its start is a time that concurrently created services share. */
export function serviceRoleOf(serviceId: string): string {
  return `svc_${serviceId.replaceAll("-", "").slice(-DIGITS)}`;
}
