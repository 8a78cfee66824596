import { isDeepStrictEqual } from "node:util";
import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { PlanOp } from "@appdb/contract/plan";
import type { DeployRollbackPlan } from "@appdb/contract/routes/control-deploys";
import { op } from "@appdb/engine/services/compare-routes";
import { doneBy } from "../../audit/event.ts";
import type { DeployContent } from "../../database/service-tables.ts";
import { planResources } from "../databases/plan-resources.ts";
import { planSettings } from "../databases/plan-settings.ts";
import type { PlanBounds } from "../databases/read-plan.ts";
import { requireResourceQuota } from "../databases/resource-sums.ts";
import { requestState } from "../databases/state.ts";
import { writeChange } from "../databases/write-change.ts";
import type { Caller } from "../keys/create-key.ts";
import { planReturn, refuseIncompatible } from "../services/check-release.ts";
import type { LockedService } from "../services/lock-services.ts";
import { listReleaseNumbers } from "../services/releases.ts";
import { requireAwake } from "../services/request-service.ts";
import { requestServiceState } from "../services/state.ts";
import { writeService } from "../services/write-service.ts";
import type { FormerReleases } from "./check-former-releases.ts";
import {
  type DeployDeps,
  type DeployRow,
  deployNotFound,
  findLastDeploy,
  type LockedContent,
  lockContent,
  refuseUnderWay,
  toDeploy,
} from "./deploys-store.ts";

export type RollBackDeps = DeployDeps & Pick<PlanBounds, "bounds" | "quotas">;

export interface BegunWork {
  readonly id: string;
  readonly kind: string;
  readonly target: string;
}

/**
 * Plans a rollback of the last deployment without changing anything.
 * @throws database_not_found, deploy_not_found, deploy_under_way, deploy_moved
 */
export async function planRollback(
  { tx }: DeployDeps,
  { org }: Caller,
  name: string,
  previous: FormerReleases,
): Promise<DeployRollbackPlan> {
  const locked = await lockContent(tx, org, name);
  const uri = databaseUriOf(org.name, locked.database.name);
  const deploy = await requireLastDeploy({ tx }, uri, locked);
  return {
    deploy: toDeploy(deploy),
    ops: [...planServices(locked, deploy, previous, uri), ...planDatabase(locked, deploy)],
  };
}

/**
 * Undoes one step of the last deployment: first the releases of services, then the files, image and size of the
 * database. Call it again when its operations have ended, or after an interruption. No operation means that all is
 * undone.
 * @throws database_not_found, database_not_available, deploy_not_found, deploy_under_way, deploy_moved,
 * release_not_found, schema_mismatch, service_state, resources_quota
 */
export async function rollBackDeploy(
  deps: RollBackDeps,
  caller: Caller,
  request: { readonly database: string; readonly deploy: string },
  previous: FormerReleases,
): Promise<{ deploy: ReturnType<typeof toDeploy>; operations: BegunWork[] }> {
  const { tx } = deps;
  const { org } = caller;
  const locked = await lockContent(tx, org, request.database);
  const uri = databaseUriOf(org.name, locked.database.name);
  const deploy = await requireLastDeploy(deps, uri, locked);
  if (deploy.id !== request.deploy) throw stateChanged(uri, "another deployment started");
  requireAwake(org, locked.database);
  const operations =
    (await undoServices(deps, caller, locked, deploy, previous)) ?? (await undoDatabase(deps, caller, locked, deploy));
  const state = operations.length === 0 ? "rolled_back" : "rolling_back";
  const now = await tx
    .updateTable("control.deploys")
    .set({ state })
    .where("id", "=", deploy.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  if (state === "rolled_back") {
    const detail = { app_file: deploy.app_file, deployed_at: deploy.created_at.toISOString() };
    await deps.recordEvent(tx, { action: "deploy.rollback", target: uri, ...doneBy(caller), detail });
  }
  return { deploy: toDeploy(now), operations };
}

async function requireLastDeploy({ tx }: Pick<DeployDeps, "tx">, uri: string, { content, database }: LockedContent) {
  const deploy = await findLastDeploy(tx, database.id);
  if (deploy === undefined) throw deployNotFound(uri);
  await refuseUnderWay(tx, uri, deploy);
  // the outcome of a deployment that was cut off is unknown
  if (deploy.after === null || deploy.state === "rolling_back") return deploy;
  const parts = partsThatDiffer(deploy.after, content);
  if (parts.length > 0) throw stateChanged(uri, `${parts.join(", ")} changed`);
  return deploy;
}

/** The parts of a database that a deployment changes, with their names. */
const DATABASE_PARTS = [
  { part: "tree", word: "its project files" },
  { part: "environment", word: "its image" },
  { part: "resources", word: "its size" },
  { part: "settings", word: "its settings" },
] as const satisfies readonly { part: keyof DeployContent; word: string }[];
type DatabasePart = (typeof DATABASE_PARTS)[number]["part"];

function isSame(part: keyof DeployContent, one: DeployContent, other: DeployContent): boolean {
  return isDeepStrictEqual(one[part], other[part]);
}

function partsThatDiffer(deployed: DeployContent, now: DeployContent): string[] {
  const parts = DATABASE_PARTS.flatMap(({ part, word }) => (isSame(part, deployed, now) ? [] : [word]));
  const before = new Map(deployed.services.map(({ name, release }) => [name, release]));
  const areSame =
    before.size === now.services.length && now.services.every(({ name, release }) => before.get(name) === release);
  return areSame ? parts : [...parts, "its services"];
}

function stateChanged(uri: string, what: string): Error {
  return appError("deploy_moved", {
    detail: `Since the last deployment to ${uri} ${what}. Undoing the deployment would also undo that.`,
    hint: `Roll back services one by one: cli service rollback ${uri}/<service>   or deploy the version you want`,
    meta: { uri },
  });
}

interface ServiceStep {
  readonly row: LockedService;
  /** The service before the deployment. Undefined if the deployment created it. */
  readonly previous: DeployContent["services"][number] | undefined;
}

/** Services whose release differs, or that should run it but do not. A service stopped by someone needs no step. */
function stepsOf({ services }: LockedContent, { before }: DeployRow): ServiceStep[] {
  const previous = new Map(before.services.map((service) => [service.name, service]));
  return services
    .map((row) => ({ row, previous: previous.get(row.name) }))
    .filter(({ previous, row: { desired, observed } }) => {
      if (previous?.release !== desired.release) return true;
      return desired.is_running && observed?.release !== desired.release;
    });
}

function planServices(locked: LockedContent, deploy: DeployRow, checked: FormerReleases, uri: string): PlanOp[] {
  return stepsOf(locked, deploy).flatMap(({ previous, row }) => {
    const { desired, name } = row;
    if (previous !== undefined) {
      return planReturn(row, { from: desired.release, to: previous.release }, checked.get(name), uri);
    }
    const text = `service '${name}', which was deployed, will be stopped and removed`;
    return [{ ...op("drop", "service", "destructive", text), name }];
  });
}

function planDatabase({ content }: LockedContent, { before }: DeployRow): PlanOp[] {
  const lines = [
    ...(content.tree === before.tree ? [] : ["the project files will be those from before"]),
    ...(content.environment === before.environment ? [] : ["the previous image will be used"]),
    ...planResources(content.resources, before.resources).map(({ description }) => description),
    ...planSettings(content.settings, before.settings).map(({ description }) => description),
  ];
  return lines.map((description) => op("alter", "project", "additive", description));
}

/** Undefined if the services already have their previous releases. */
async function undoServices(
  deps: DeployDeps,
  caller: Caller,
  locked: LockedContent,
  deploy: DeployRow,
  checked: FormerReleases,
): Promise<BegunWork[] | undefined> {
  const uri = databaseUriOf(caller.org.name, locked.database.name);
  const begun: BegunWork[] = [];
  for (const { previous, row } of stepsOf(locked, deploy)) {
    const compared = checked.get(row.name);
    if (compared !== undefined) refuseIncompatible(caller.org, locked.database.name, row, compared);
    const target = `${uri}/${row.name}`;
    const ends = previous === undefined || !previous.is_running;
    if (previous !== undefined && !(await listReleaseNumbers(deps.tx, row.id)).includes(previous.release)) {
      throw releaseGone(uri, row, previous.release);
    }
    const operation = await writeService(
      deps,
      caller,
      { ...row, database: locked.database.name },
      {
        kind: previous === undefined ? "service.prune" : "service.rollback",
        state: requestServiceState(target, row.state, ends ? "stop" : "update"),
        desired: { ...row.desired, release: previous?.release ?? row.desired.release, is_running: !ends },
        is_pruned: previous === undefined,
      },
    );
    begun.push({ ...operation, target });
  }
  return begun.length === 0 ? undefined : begun;
}

async function undoDatabase(
  deps: RollBackDeps,
  caller: Caller,
  { content, database }: LockedContent,
  { app_file: appFile, before }: DeployRow,
): Promise<BegunWork[]> {
  if (DATABASE_PARTS.every(({ part }) => isSame(part, before, content))) return [];
  const { environment, resources, settings, tree } = before;
  const previous: Pick<DeployContent, DatabasePart> = { environment, resources, settings, tree };
  const target = databaseUriOf(caller.org.name, database.name);
  const { bounds, quotas, tx } = deps;
  const sums = { name: database.name, before: content.resources, after: resources, bounds, sums: quotas.sums };
  await requireResourceQuota(tx, caller.org, sums);
  const { operation } = await writeChange(deps, caller, database, {
    kind: "database.update",
    state: requestState(target, database.state, "update"),
    desired: { ...database.desired, ...previous },
    detail: `back to its state before ${appFile} was deployed`,
  });
  return operation === null ? [] : [{ id: operation.id, kind: operation.kind, target }];
}

function releaseGone(uri: string, { app_file: appFile, name }: LockedService, release: number): Error {
  return appError("release_not_found", {
    detail: `Release ${release} of ${uri}/${name} is no longer kept.`,
    hint: `Move it to the database's current files: cli service update ${appFile} ${uri}`,
    meta: { uri, service: name, release },
  });
}
