import { Secret } from "@appdb/system/secret";
import type { PodTokenDeps } from "../../pods/pod-token.ts";
import { type ServiceLocation, servicePodId } from "../../pods/service-paths.ts";
import { findServiceToken } from "../../pods/service-token.ts";
import type { KeptState } from "./kept-state.ts";

/** The bearer token of an instance. Undefined before the first start of its database. */
export type FindPodToken = (service: ServiceLocation, instance: number) => Promise<Secret | undefined>;

type KeptTokens = Pick<KeptState, "tokens" | "keepToken">;

/** Reads each token once from PostgreSQL. Links then need no PostgreSQL, even after a start with the stored state. */
export function createFindPodToken(deps: PodTokenDeps, stored: KeptTokens | undefined): FindPodToken {
  return async (service, instance) => {
    const podId = servicePodId(service.id, instance);
    const known = stored?.tokens[podId];
    if (known !== undefined) return new Secret(known);
    const token = await findServiceToken(deps, service, instance);
    if (token !== undefined) stored?.keepToken(podId, token.reveal());
    return token;
  };
}
