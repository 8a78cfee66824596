import { createHmac } from "node:crypto";
import { Secret } from "@appdb/system/secret";
import { findPodToken, type PodTokenDeps } from "./pod-token.ts";
import { type ServiceLocation, servicePodId } from "./service-paths.ts";

/** What an instance of a service takes for a bearer, on its API and on the link; undefined before its database was ever started. */
export async function findServiceToken(
  deps: PodTokenDeps,
  service: ServiceLocation,
  instance: number,
): Promise<Secret | undefined> {
  const token = await findPodToken(deps, service.database_id);
  return token && serviceTokenOf(token, service.id, instance);
}

/** Made from the token of the database's pod, which cannot be found from it: an instance that is over knows no other's. */
export function serviceTokenOf(databaseToken: Secret, serviceId: string, instance: number): Secret {
  const hmac = createHmac("sha256", databaseToken.reveal());
  return new Secret(hmac.update(servicePodId(serviceId, instance)).digest("base64url"));
}
