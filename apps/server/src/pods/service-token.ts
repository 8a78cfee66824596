import { createHmac } from "node:crypto";
import { Secret } from "@appdb/system/secret";
import { findPodToken, type PodTokenDeps } from "./pod-token.ts";
import { type ServiceLocation, servicePodId } from "./service-paths.ts";

/** The bearer token of a service instance, for its API and its link. Undefined before its database's first start. */
export async function findServiceToken(
  deps: PodTokenDeps,
  service: ServiceLocation,
  instance: number,
): Promise<Secret | undefined> {
  const token = await findPodToken(deps, service.database_id);
  return token && serviceTokenOf(token, service.id, instance);
}

/** Derived one-way from the token of the database's pod, so that an instance cannot compute another's. */
export function serviceTokenOf(databaseToken: Secret, serviceId: string, instance: number): Secret {
  const hmac = createHmac("sha256", databaseToken.reveal());
  return new Secret(hmac.update(servicePodId(serviceId, instance)).digest("base64url"));
}

/** Of the link of the database's own pod, which serves its media store like a service whose id is the database's. */
export function mediaLinkToken(databaseToken: Secret, databaseId: string): Secret {
  return serviceTokenOf(databaseToken, databaseId, MEDIA_INSTANCE);
}

/** Of the objects of a database in the operator's bucket; its pod and those of its services have it. */
export function objectsToken(linkToken: Secret): Secret {
  return new Secret(createHmac("sha256", linkToken.reveal()).update("objects").digest("base64url"));
}

/** The only instance of a media store. */
export const MEDIA_INSTANCE = 0;
