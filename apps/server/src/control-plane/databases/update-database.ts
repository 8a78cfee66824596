import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { appError } from "@appdb/contract/errors";
import type {
  DatabaseChange,
  DatabasePlan,
  databaseUpdateRequestSchema,
} from "@appdb/contract/routes/control-databases";
import { sql } from "kysely";
import type * as z from "zod";
import type { DesiredDatabase } from "../../database/desired.ts";
import type { Tx } from "../../database/pool.ts";
import { storeTree } from "../../storage/store-tree.ts";
import type { Caller } from "../keys/create-key.ts";
import { staleGeneration } from "./database-conflicts.ts";
import { type DatabaseRow, lockDatabase } from "./databases-store.ts";
import { isApplied } from "./plan-database.ts";
import { type PlanBounds, parseDatabaseName, type ReadPlan, readPlan, sumsOf } from "./read-plan.ts";
import { requireResourceQuota } from "./resource-sums.ts";
import { requestState } from "./state.ts";
import { createChange, type DatabaseChangeDeps, nothingToDo, writeChange } from "./write-change.ts";

const MAX_DETAIL = 300;

export interface UpdateDeps extends DatabaseChangeDeps, PlanBounds {}
type UpdateRequest = z.output<typeof databaseUpdateRequestSchema>;

/**
 * Updates or creates a database as planned: records the desired state and the operation that carries it out.
 * @throws generation_moved, database_not_available, database_exists, database_quota, destructive_refused,
 * blobs_missing, tree_invalid, resources_refused, resources_quota, storage_quota, disk_full, invalid_name,
 * invalid_request
 */
export async function updateDatabase(
  deps: UpdateDeps,
  caller: Caller,
  text: string,
  request: UpdateRequest,
): Promise<DatabaseChange> {
  const { tx } = deps;
  const { org } = caller;
  const name = parseDatabaseName(text);
  const row = (await lockDatabase(tx, org.id, name)) ?? (await lockName(tx, org.id, name));
  const uri = databaseUriOf(org.name, name);
  const planned = await readPlan(tx, org, { ...deps, name, row, request });
  const { desired, plan, requestedState } = planned;
  if (request.expected_generation !== plan.generation)
    throw await staleGeneration(tx, uri, row, request.expected_generation);
  if (row === undefined) {
    await requireResourceQuota(tx, org, sumsOf({ ...deps, name, row }, planned));
    await storeDesired(deps, org.id, request, planned);
    return await createChange(deps, caller, { name, desired, detail: describeOps(plan) });
  }
  const state = requestState(uri, row.state, "update");
  if (plan.in_agreement) {
    if (!isApplied(row)) await clearPendingUpdate(tx, row, desired);
    return await nothingToDo(deps, caller, name);
  }
  refuseDestructive(uri, plan, request.allow_destructive);
  await requireResourceQuota(tx, org, sumsOf({ ...deps, name, row }, planned));
  await storeDesired(deps, org.id, request, planned);
  return await writeChange(deps, caller, row, {
    kind: "database.update",
    state,
    desired: { ...desired, ...requestedState },
    detail: describeOps(plan),
  });
}

/** Locks the creation of databases in the organization, because they share one quota. */
async function lockName(tx: Tx, orgId: string, name: string): Promise<DatabaseRow | undefined> {
  await tx.selectFrom("control.organizations").select("id").where("id", "=", orgId).forUpdate().executeTakeFirst();
  return await lockDatabase(tx, orgId, name);
}

/** Stores the environment document and the files. @throws blobs_missing, tree_invalid, storage_quota, disk_full */
export async function storeDesired(
  { requireDiskSpace, quotas, tx }: Pick<UpdateDeps, "requireDiskSpace" | "quotas" | "tx">,
  orgId: string,
  request: Pick<UpdateRequest, "environment" | "files">,
  { requestedState }: Pick<ReadPlan, "requestedState">,
): Promise<void> {
  await requireDiskSpace();
  if (requestedState.environment !== null) {
    await sql`insert into control.images (org_id, hash, state, environment)
      values (${orgId}, ${requestedState.environment}, 'building', ${JSON.stringify(request.environment)}::jsonb)
      on conflict (org_id, hash) do update set used_at = now()`.execute(tx);
  }
  await storeTree(tx, orgId, request.files, quotas.storage);
}

/** Drops an earlier update that failed, so that no later retry carries it out. */
async function clearPendingUpdate(tx: Tx, row: DatabaseRow, desired: DesiredDatabase): Promise<void> {
  await tx
    .updateTable("control.databases")
    .set({ desired: JSON.stringify(desired), ...(row.last_build?.state === "failed" ? { last_build: null } : {}) })
    .where("id", "=", row.id)
    .execute();
}

function refuseDestructive(uri: string, plan: DatabasePlan, isAllowed: boolean): void {
  const refused = plan.ops.filter(({ severity }) => severity === "destructive");
  if (isAllowed || refused.length === 0) return;
  throw appError("destructive_refused", {
    detail: `The update of ${uri} removes something: ${refused.map(({ description }) => description).join("; ")}.`,
    hint: "Allow it: --allow-destructive",
    meta: { ops: refused.map(({ details }) => details) },
  });
}

/** The text of a plan that its operation keeps. */
export function describeOps({ ops }: Pick<DatabasePlan, "ops">): string {
  const text = ops.map(({ description }) => description).join("; ");
  return text.length > MAX_DETAIL ? `${text.slice(0, MAX_DETAIL - 3)}...` : text;
}
