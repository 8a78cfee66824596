import { notAvailable } from "@appdb/contract/control/database-advice";
import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import {
  MAX_PREPARATIONS,
  type Preparation,
  type preparationRequestSchema,
} from "@appdb/contract/routes/control-deploys";
import { type Selectable, sql } from "kysely";
import type * as z from "zod";
import { actorOf } from "../../audit/event.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import type { ServiceTables } from "../../database/service-tables.ts";
import { startOperation } from "../../operations/run-operation.ts";
import { enqueuePrepareImage } from "../../queue/jobs.ts";
import { databaseNotFound, lockDatabase, type OrgOfDatabases } from "../databases/databases-store.ts";
import { readPlan } from "../databases/read-plan.ts";
import { describeOps, storeDesired, type UpdateDeps } from "../databases/update-database.ts";
import type { Caller } from "../keys/create-key.ts";

type PreparationRow = Selectable<ServiceTables["control.preparations"]>;

/** How long a preparation is usable. Its image and files are kept longer (reconciler/cleanup). */
const KEPT = "1 day";
const KIND = "database.prepare";

/**
 * Records a preparation with the operation that builds and reads the new files. The database does not change, and other
 * requests to it continue.
 * @throws database_not_found, database_not_available, blobs_missing, tree_invalid, overloaded; the errors of planning
 * an update
 */
export async function beginPreparation(
  deps: UpdateDeps,
  caller: Caller,
  name: string,
  { app_file: appFile, ...request }: z.output<typeof preparationRequestSchema>,
): Promise<Preparation> {
  const { tx } = deps;
  const { client, org, principal } = caller;
  const row = await lockDatabase(tx, org.id, name);
  if (row === undefined) throw databaseNotFound(org, name);
  const uri = databaseUriOf(org.name, row.name);
  if (row.state !== "AVAILABLE") throw notAvailable(uri, row.state, "deployed to");
  await refuseMany(tx, row.id, uri);
  const planned = await readPlan(tx, org, { ...deps, name, row, request });
  await storeDesired(deps, org.id, request, planned);
  const operationId = await startOperation(deps, {
    org_id: org.id,
    actor: actorOf(principal),
    principal,
    ...client,
    // belongs to no database: it must not block the database's own operations
    database_id: null,
    kind: KIND,
    target: uri,
    is_cancellable: true,
    detail: describeOps(planned.plan),
  });
  if (operationId === undefined) throw new Error("An operation without a database already exists.");
  const { resources, settings } = planned.desired;
  const { id } = await tx
    .insertInto("control.preparations")
    .values({
      org_id: org.id,
      database_id: row.id,
      operation_id: operationId,
      app_file: appFile,
      ...planned.requestedState,
      resources: JSON.stringify(resources),
      settings: JSON.stringify(settings),
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await enqueuePrepareImage(tx, id, row.id);
  return { id, operation: { id: operationId, kind: KIND } };
}

/** @throws overloaded */
async function refuseMany(tx: Tx, databaseId: string, uri: string): Promise<void> {
  const { open } = await tx
    .selectFrom("control.preparations as p")
    .innerJoin("control.operations as o", "o.id", "p.operation_id")
    .select(({ fn }) => fn.countAll<string>().as("open"))
    .where("p.database_id", "=", databaseId)
    .where("o.ended_at", "is", null)
    .executeTakeFirstOrThrow();
  if (Number(open) < MAX_PREPARATIONS) return;
  throw appError("overloaded", {
    detail: `${open} deployments to ${uri} are being prepared. The maximum at a time is ${MAX_PREPARATIONS}.`,
    hint: "Wait for one, or cancel it: cli operations list",
    meta: { uri },
  });
}

export interface FoundPreparation extends Omit<PreparationRow, "created_at" | "manifest"> {
  readonly uri: string;
}

/** Reads a preparation for its job. Undefined if its database was deleted. */
export async function findForWork(db: ControlDatabase, id: string): Promise<FoundPreparation | undefined> {
  const found = await db
    .selectFrom("control.preparations as p")
    .innerJoin("control.databases as d", "d.id", "p.database_id")
    .innerJoin("control.organizations as o", "o.id", "p.org_id")
    .select(["p.id", "p.org_id", "p.database_id", "p.operation_id", "p.app_file", "p.tree", "p.environment"])
    .select(["p.resources", "p.settings", "d.name", "o.name as org_name"])
    .where("p.id", "=", id)
    .executeTakeFirst();
  if (found === undefined) return undefined;
  const { name, org_name: orgName, ...row } = found;
  return { ...row, uri: databaseUriOf(orgName, name) };
}

export type PreparedApplication = Pick<PreparationRow, "app_file" | "environment" | "resources" | "tree"> & {
  readonly manifest: Manifest;
};

/** Finds a usable preparation of a file. @throws preparation_not_found if missing, unfinished or old */
export async function findPrepared(
  db: ControlDatabase,
  org: OrgOfDatabases,
  request: { readonly id: string; readonly database_id: string; readonly app_file: string; readonly uri: string },
): Promise<PreparedApplication> {
  const found = await db
    .selectFrom("control.preparations")
    .select(["app_file", "environment", "manifest", "resources", "tree"])
    .where("id", "=", request.id)
    .where("org_id", "=", org.id)
    .where("database_id", "=", request.database_id)
    .where("app_file", "=", request.app_file)
    .where("created_at", ">", sql<Date>`now() - ${KEPT}::interval`)
    .executeTakeFirst();
  if (found !== undefined && found.manifest !== null) return { ...found, manifest: found.manifest };
  throw appError("preparation_not_found", {
    detail: `No usable preparation ${request.id} of ${request.app_file} for ${request.uri}: it is missing, unfinished or too old.`,
    hint: `Deploy again: cli deploy ${request.app_file} ${request.uri}`,
    meta: { uri: request.uri, id: request.id },
  });
}

/** Removes preparations that are too old to use. */
export async function forgetPreparations(db: ControlDatabase): Promise<void> {
  await sql`delete from control.preparations where created_at < now() - ${KEPT}::interval`.execute(db);
}
