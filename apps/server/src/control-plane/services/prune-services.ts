import type { PlanOp } from "@appdb/contract/plan";
import type { hostedServiceUpdateAnswerSchema } from "@appdb/contract/routes/control-services";
import { findService, op } from "@appdb/engine/services/compare-routes";
import { summarizePlan } from "@appdb/engine/services/plan-services";
import type * as z from "zod";
import { requireManageGrant } from "../../requests/manage-grants.ts";
import { databaseNotFound, lockDatabase } from "../databases/databases-store.ts";
import type { Caller } from "../keys/create-key.ts";
import { type LockedService, lockServices } from "./lock-services.ts";
import { fullName } from "./plan-hosted.ts";
import type { DeployedApplication } from "./read-deployed-application.ts";
import type { ServiceRequestDeps } from "./request-service.ts";
import { requestServiceState } from "./state.ts";
import { type BegunOperation, writeService } from "./write-service.ts";

type PruneAnswer = z.output<typeof hostedServiceUpdateAnswerSchema>;

/**
 * Stops and removes the services of a target that its file does not define. A dry run only returns them.
 * @throws database_not_found; forbidden for services outside the key's grants
 */
export async function pruneServices(
  deps: ServiceRequestDeps,
  caller: Caller,
  application: DeployedApplication,
  isDry: boolean,
): Promise<PruneAnswer> {
  const { app_file: appFile, folders, manifest, target } = application;
  const { id, name: database } = application.database;
  if ((await lockDatabase(deps.tx, caller.org.id, database)) === undefined)
    throw databaseNotFound(caller.org, database);
  const rows = await lockServices(deps.tx, id);
  const shortName = ({ name }: LockedService) => name.slice(name.lastIndexOf("/") + 1);
  const extras = rows.filter(
    (row) =>
      !row.is_pruned &&
      row.name === fullName(folders, shortName(row)) &&
      findService(manifest, shortName(row)) === undefined,
  );
  requireManageGrant(
    caller.principal,
    database,
    extras.map(({ name }) => name),
  );
  const operations: PruneAnswer["operations"] = [];
  for (const row of isDry ? [] : extras) {
    operations.push({ ...(await forget(deps, caller, row, database, target)), service: row.name });
  }
  const plan = summarizePlan({
    app_file: appFile,
    target,
    services: [],
    ops: extras.map((row) => dropOp(row, shortName(row))),
    status: null,
    extras: extras.map(shortName),
  });
  return { plan, operations };
}

async function forget(
  deps: ServiceRequestDeps,
  caller: Caller,
  row: LockedService,
  database: string,
  target: string,
): Promise<BegunOperation> {
  const state = requestServiceState(`${target}/${row.name}`, row.state, "stop");
  return await writeService(
    deps,
    caller,
    { ...row, database },
    { kind: "service.prune", state, desired: { ...row.desired, is_running: false }, is_pruned: true },
  );
}

function dropOp({ app_file: appFile }: LockedService, name: string): PlanOp {
  return {
    ...op("drop", "service", "destructive", `service '${name}' of ${appFile} will be stopped and removed`),
    name,
    requires_restart: false,
    details: { app_file: appFile },
  };
}
