import { serviceUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { HostedServiceChange } from "@appdb/contract/routes/control-services";
import type { Tx } from "../../database/pool.ts";
import type { Caller } from "../keys/create-key.ts";
import type { ServiceRow } from "./lock-services.ts";
import { findReleaseBefore, listReleaseNumbers } from "./releases.ts";
import { answerChange, demandAwake, lockPlace, type ServiceRequestDeps } from "./request-service.ts";
import { requestServiceState } from "./state.ts";
import { writeService } from "./write-service.ts";

/**
 * Has a service run a former release again: the one that is named, or the one before what it runs.
 * @throws database_not_found, database_not_available, service_not_found, release_not_found, service_state
 */
export async function rollBackService(
  deps: ServiceRequestDeps,
  caller: Caller,
  place: { readonly database: string; readonly name: string },
  release: number | null,
): Promise<HostedServiceChange> {
  const { org } = caller;
  const { database, service } = await lockPlace(deps, org, place);
  const uri = serviceUriOf(org.name, database.name, service.name);
  demandAwake(org, database);
  const number = await chooseRelease(deps.tx, uri, service, release);
  const { desired, observed } = service;
  if (desired.release === number && observed?.release === number && desired.is_running)
    return await answerChange(deps, org, place, null);
  const state = requestServiceState(uri, service.state, "update");
  const named = { ...service, database: database.name };
  const operation = await writeService(deps, caller, named, {
    ...{ kind: "service.rollback", state, desired: { ...desired, release: number, is_running: true } },
    detail: `from release ${observed?.release ?? desired.release} to release ${number}`,
  });
  return await answerChange(deps, org, place, operation);
}

async function chooseRelease(tx: Tx, uri: string, service: ServiceRow, wanted: number | null): Promise<number> {
  const current = service.observed?.release ?? service.desired.release;
  const kept = await listReleaseNumbers(tx, service.id);
  const chosen = wanted ?? (await findReleaseBefore(tx, service.id, current));
  if (chosen !== undefined && kept.includes(chosen)) return chosen;
  throw appError("release_not_found", {
    detail:
      wanted === null
        ? `${uri} has no release before release ${current}.`
        : `${uri} has no release ${wanted}; there ${kept.length === 1 ? "is" : "are"} ${kept.join(", ")}.`,
    hint: `Move it onto what its database has: cli service update ${service.app_file} ${uri.slice(0, uri.lastIndexOf("/"))}`,
    meta: { uri, release: wanted, kept },
  });
}
