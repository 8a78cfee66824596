import { databaseUriOf } from "@appdb/contract/control/resource-names";
import type { DatabaseChange, databaseBuildImageRequestSchema } from "@appdb/contract/routes/control-databases";
import type * as z from "zod";
import type { Caller } from "../keys/create-key.ts";
import { databaseNotFound, lockDatabase } from "./databases-store.ts";
import { growResources } from "./plan-resources.ts";
import { mergeSettings } from "./plan-settings.ts";
import { readPlan } from "./read-plan.ts";
import { requestChange } from "./request-change.ts";
import { requestState } from "./state.ts";
import { describeOps, storeDesired, type UpdateDeps } from "./update-database.ts";
import { nothingToDo, writeChange } from "./write-change.ts";

type BuildRequest = z.output<typeof databaseBuildImageRequestSchema>;

/**
 * Requests an image build from the database's files and environment, or from new ones that replace them. A FAILED
 * database may get more of a resource in the same request.
 * @throws database_not_found, database_state, blobs_missing, tree_invalid, resources_refused, invalid_request
 */
export async function requestBuild(
  deps: UpdateDeps,
  caller: Caller,
  name: string,
  request: BuildRequest,
): Promise<DatabaseChange> {
  if (request === undefined || request === null) return await requestChange(deps, caller, name, "build_image");
  const { tx } = deps;
  const { org } = caller;
  const row = await lockDatabase(tx, org.id, name);
  if (row === undefined) throw databaseNotFound(org, name);
  const uri = databaseUriOf(org.name, row.name);
  const state = requestState(uri, row.state, "build_image");
  const settings = row.state === "FAILED" ? request.settings : {};
  const planned = await readPlan(tx, org, { ...deps, name, row, request: { ...request, settings } });
  const { plan, requestedState } = planned;
  // the base library alone needs no build
  if (row.state === "AVAILABLE" && requestedState.environment === null && plan.in_agreement) {
    return await nothingToDo(deps, caller, row.name);
  }
  await storeDesired(deps, org.id, request, planned);
  const changes = plan.ops.filter(({ target }) => target === "image" || target === "files");
  const { desired } = row;
  return await writeChange(deps, caller, row, {
    kind: "database.build",
    state,
    desired: {
      ...desired,
      ...requestedState,
      is_awake: true,
      builds: desired.builds + 1,
      resources: growResources(desired.resources, settings),
      settings: mergeSettings(desired.settings, settings, uri),
    },
    ...(changes.length === 0 ? {} : { detail: describeOps({ ops: changes }) }),
  });
}
