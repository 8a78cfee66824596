import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { ServicePlan, ServicePlanItem } from "@appdb/contract/plan";
import type {
  hostedServicePlanSchema,
  hostedServiceUpdateAnswerSchema,
  hostedServiceUpdateRequestSchema,
} from "@appdb/contract/routes/control-services";
import { summarizePlan } from "@appdb/engine/services/plan-services";
import { refuseBlocked, refuseDestructive } from "@appdb/engine/services/refuse-plan";
import type * as z from "zod";
import { actorOf } from "../../audit/event.ts";
import type { Principal } from "../../audit/principal.ts";
import type { Tx } from "../../database/pool.ts";
import { serviceEndpoint } from "../../edge/address.ts";
import { mayManageSome, requireManageGrant } from "../../requests/manage-grants.ts";
import { type DatabaseRow, databaseNotFound, lockDatabase } from "../databases/databases-store.ts";
import type { Caller } from "../keys/create-key.ts";
import { type LockedService, lockServices, readServices } from "./lock-services.ts";
import { fullName, planHostedServices, planVersion } from "./plan-hosted.ts";
import type { DeployedApplication } from "./read-deployed-application.ts";
import { addRelease } from "./releases.ts";
import { requireAwake, type ServiceRequestDeps } from "./request-service.ts";
import { servicesMoved } from "./service-conflicts.ts";
import { requestServiceState } from "./state.ts";
import { type BegunOperation, beginWork, writeService } from "./write-service.ts";

/** Maximum services of one database: each runs in its own pod. */
const MAX_SERVICES = 50;
/** Maximum characters of a name with its folders, because it is part of addresses. */
const MAX_NAME = 200;
const MAX_DETAIL = 300;

type UpdateAnswer = z.output<typeof hostedServiceUpdateAnswerSchema>;

/** Plans an update of services against the current state. @throws service_not_found, service_conflict, forbidden */
export async function planOfServices(
  { config, db }: { readonly config: ServiceRequestDeps["config"]; readonly db: Pick<Tx, "selectFrom"> },
  principal: Principal,
  application: DeployedApplication,
  service: string | null,
): Promise<z.output<typeof hostedServicePlanSchema>> {
  const { database } = application;
  const input = { application, database, rows: await readServices(db, database.id) };
  const endpointOf = (name: string) => serviceEndpoint(config, database, name);
  const plan = planHostedServices({ ...input, service, endpointOf });
  requireServices(principal, application, plan.services);
  const extras = knownExtras(principal, application, plan.extras);
  return { plan: summarizePlan({ ...plan, extras }), version: planVersion(input) };
}

/**
 * Creates and starts a release for each service that changes: all of them or none. The application was read before,
 * from state that must not have changed since.
 * @throws generation_moved, database_not_available, service_not_found, service_conflict, schema_mismatch,
 * destructive_refused, service_quota, forbidden
 */
export async function updateServices(
  deps: ServiceRequestDeps,
  caller: Caller,
  application: DeployedApplication,
  request: Pick<
    z.output<typeof hostedServiceUpdateRequestSchema>,
    "service" | "expected_version" | "allow_destructive"
  >,
): Promise<UpdateAnswer> {
  const { config, tx } = deps;
  const { org } = caller;
  const { app_file: appFile, folders, target } = application;
  const database = await lockDatabase(tx, org.id, application.database.name);
  if (database === undefined) throw databaseNotFound(org, application.database.name);
  requireAwake(org, database);
  const rows = await lockServices(tx, database.id);
  const version = planVersion({ application, database, rows });
  const expected = request.expected_version;
  if (version !== expected || !isSameProject(application, database))
    throw await servicesMoved(tx, database.id, { target, app_file: appFile, expected, version });
  const endpointOf = (name: string) => serviceEndpoint(config, database, name);
  const plan = planHostedServices({ application, database, rows, service: request.service, endpointOf });
  requireServices(caller.principal, application, plan.services);
  refuseBlocked(plan);
  refuseDestructive(plan, request.allow_destructive);
  const changing = plan.services.filter(({ resolution }) => resolution !== "up_to_date");
  const names = [...rows.map(({ name }) => name), ...changing.map(({ name }) => fullName(folders, name))];
  refuseTooMany(databaseUriOf(org.name, database.name), new Set(names).size);
  const operations: UpdateAnswer["operations"] = [];
  for (const item of changing) {
    const name = fullName(folders, item.name);
    const row = rows.find((row) => row.name === name);
    const begun = await moveService(deps, caller, { application, database, row, name, item });
    operations.push({ ...begun, service: name });
  }
  const extras = knownExtras(caller.principal, application, plan.extras);
  return { plan: describeAsked(summarizePlan({ ...plan, extras })), operations };
}

interface Move {
  readonly application: DeployedApplication;
  readonly database: DatabaseRow;
  /** Undefined for a new one. */
  readonly row: LockedService | undefined;
  readonly name: string;
  readonly item: ServicePlanItem;
}

async function moveService(
  deps: ServiceRequestDeps,
  caller: Caller,
  { application, database, item, name, row }: Move,
): Promise<BegunOperation> {
  const { tx } = deps;
  const { observed, desired } = database;
  const detail = describeOps(item);
  const release = {
    tree: observed?.tree ?? null,
    environment: observed?.environment ?? null,
    app_file: application.app_file,
    manifest: application.manifest,
    workers: desired.resources.workers,
    changes: item.ops.map(({ description }) => description),
    created_by: actorOf(caller.principal),
  };
  const place = { database_id: database.id, database: database.name, name };
  const kind = "service.update";
  if (row === undefined) {
    const first = JSON.stringify({ release: 1, is_running: true, restarts: 0 });
    const { id } = await tx
      .insertInto("control.services")
      .values({ org_id: caller.org.id, database_id: database.id, name, desired: first })
      .returning("id")
      .executeTakeFirstOrThrow();
    await addRelease(tx, id, release);
    return await beginWork(deps, caller, { ...place, id }, { kind, detail });
  }
  const state = requestServiceState(`${application.target}/${item.name}`, row.state, "update");
  const number = await addRelease(tx, row.id, release);
  const nextDesired = { ...row.desired, release: number, is_running: true };
  return await writeService(deps, caller, { ...place, id: row.id }, { kind, state, desired: nextDesired, detail });
}

/** @throws forbidden for services outside the key's grants */
function requireServices(
  principal: Principal,
  { database, folders }: DeployedApplication,
  services: readonly Pick<ServicePlanItem, "name">[],
): void {
  const names = services.map(({ name }) => fullName(folders, name));
  requireManageGrant(principal, database.name, names);
}

/** Hides services outside the key's grants. */
function knownExtras(
  principal: Principal,
  { database, folders }: DeployedApplication,
  extras: readonly string[],
): string[] {
  return extras.filter((name) => mayManageSome(principal, database.name, fullName(folders, name)));
}

/** Whether the manifest still belongs to the database's current files and image. */
function isSameProject({ database: requested }: DeployedApplication, { observed }: DatabaseRow): boolean {
  return requested.observed?.tree === observed?.tree && requested.observed?.environment === observed?.environment;
}

function refuseTooMany(uri: string, count: number): void {
  if (count <= MAX_SERVICES) return;
  throw appError("service_quota", {
    detail: `${uri} would have ${count} services; the maximum is ${MAX_SERVICES}.`,
    hint: `Remove some that are no longer needed: cli service prune app.py ${uri}`,
    meta: { uri, count, most: MAX_SERVICES },
  });
}

/** The work is still pending, so only unchanged services have a status. */
function describeAsked(plan: ServicePlan): ServicePlan {
  const services = plan.services.map((item) =>
    item.resolution === "up_to_date" ? { ...item, status: "skipped" as const } : item,
  );
  return { ...plan, services, status: plan.in_agreement ? "skipped" : null };
}

function describeOps({ ops }: ServicePlanItem): string {
  const text = ops.map(({ description }) => description).join("; ");
  return text.length > MAX_DETAIL ? `${text.slice(0, MAX_DETAIL - 3)}...` : text;
}

/** Refuses names that are too long for an address. @throws invalid_target */
export function refuseLongNames({ folders, manifest, target }: DeployedApplication): void {
  const long = manifest.services.map(({ name }) => fullName(folders, name)).find((name) => name.length > MAX_NAME);
  if (long === undefined) return;
  throw appError("invalid_target", {
    detail: `A service name of ${target}, ${long.slice(0, 60)}..., has ${long.length} characters with its folders; the maximum is ${MAX_NAME}.`,
    hint: "Use fewer folders or shorter names.",
    meta: { target },
  });
}
