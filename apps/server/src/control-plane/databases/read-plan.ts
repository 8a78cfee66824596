import { notAvailable } from "@appdb/contract/control/database-advice";
import { CHUNK_BYTES, type TreeEntry } from "@appdb/contract/control/project-tree";
import { databaseUriOf } from "@appdb/contract/control/resource-names";
import { refuseDeviceName } from "@appdb/contract/device-names";
import { appError } from "@appdb/contract/errors";
import { parseName } from "@appdb/contract/names";
import type { EnvironmentDocument } from "@appdb/contract/routes/control-databases";
import { checkEnvironmentParts } from "@appdb/python-runtime/environments/check-environment";
import { BUILDER_VERSION, hashEnvironment, isBaseEnvironment } from "@appdb/python-runtime/environments/environment";
import { sql } from "kysely";
import type { MediaBounds } from "../../config/config-media.ts";
import type { ResourceBounds } from "../../config/config-pods.ts";
import type { QuotasConfig } from "../../config/config-quotas.ts";
import type { ControlDatabase, Tx } from "../../database/pool.ts";
import { readSizes } from "../../storage/blob-store.ts";
import { checkTree, digestOfTree, findMissingFiles } from "../../storage/store-tree.ts";
import { type DatabaseRow, type OrgOfDatabases, PROTECTED_DATABASE } from "./databases-store.ts";
import {
  baseOf,
  type MadeDatabasePlan,
  type PlanRequest,
  planDatabase,
  type Stored,
  type Wanted,
} from "./plan-database.ts";
import { refuseSums, type SumInput } from "./resource-sums.ts";

export interface ReadPlan extends MadeDatabasePlan {
  readonly requestedState: Wanted;
}

/** This server's limits for databases. */
export interface PlanBounds {
  readonly bounds: ResourceBounds;
  /** Undefined if media stores are on the disk of this server. */
  readonly media: MediaBounds | undefined;
  readonly quotas: QuotasConfig;
  /** @throws disk_full when organizations may not write */
  requireDiskSpace(): Promise<void>;
  /** @throws environment_refused, system_packages_refused, build_failed if no image can be built from it */
  checkBuild(environment: EnvironmentDocument, organizationId: string): Promise<void>;
}

/** Parses the name of a planned database. @throws invalid_name */
export function parseDatabaseName(text: string): string {
  return parseName("database", text);
}

/**
 * Checks the environment of an image that does not exist yet. It can take long, so no transaction may be open.
 * @throws environment_refused, system_packages_refused, build_failed, rate_limited for problems known before the build
 */
export async function checkNewBuild(
  db: ControlDatabase,
  org: OrgOfDatabases,
  input: {
    readonly row: DatabaseRow | undefined;
    readonly environment: EnvironmentDocument;
  } & Pick<PlanBounds, "checkBuild">,
): Promise<void> {
  const { checkBuild, environment, row } = input;
  if (isBaseEnvironment(environment)) return;
  const hash = hashEnvironment(environment, BUILDER_VERSION);
  if (hash === row?.observed?.environment) return;
  const image = await db
    .selectFrom("control.images")
    .select("state")
    .where("org_id", "=", org.id)
    .where("hash", "=", hash)
    .executeTakeFirst();
  if (image?.state !== "ready") await checkBuild(environment, org.id);
}

/**
 * Plans a request against the current state, without changing anything. Call `checkNewBuild` first.
 * @throws tree_invalid, resources_refused, resources_quota, invalid_request, database_exists, database_quota,
 * environment_refused; database_not_available if `main` does not exist yet
 */
export async function readPlan(
  db: ControlDatabase | Tx,
  org: OrgOfDatabases,
  input: {
    readonly name: string;
    readonly row: DatabaseRow | undefined;
    readonly request: PlanRequest;
  } & Pick<PlanBounds, "bounds" | "media" | "quotas">,
): Promise<ReadPlan> {
  const { bounds, media, name, request, row } = input;
  const uri = databaseUriOf(org.name, name);
  if (row?.state === "DELETING") throw nameTaken(uri, row);
  if (row === undefined) refuseDeviceName("database", name);
  if (row === undefined && name === PROTECTED_DATABASE) throw notAvailable(uri, "PROVISIONING", "updated");
  if (row === undefined) await refuseFull(db, org, uri);
  checkTree(request.files);
  checkEnvironmentParts(request.environment, request.files);
  const requestedState: Wanted = {
    tree: digestOfTree(request.files),
    environment: isBaseEnvironment(request.environment) ? null : hashEnvironment(request.environment, BUILDER_VERSION),
  };
  const stored = await readStored(db, org, row, request, requestedState);
  const operation = row === undefined ? null : await findOpenKind(db, row.id);
  const planned = row === undefined ? undefined : { ...row, operation };
  const databasePlan = planDatabase({ uri, row: planned, request, requestedState, stored, bounds, media });
  await refuseSums(db, org, sumsOf(input, databasePlan));
  return { ...databasePlan, requestedState };
}

/** The resources that a plan needs from its organization. */
export function sumsOf(
  {
    bounds,
    name,
    quotas,
    row,
  }: Pick<PlanBounds, "bounds" | "quotas"> & { readonly name: string; readonly row: DatabaseRow | undefined },
  { desired }: Pick<MadeDatabasePlan, "desired">,
): SumInput {
  return {
    name,
    bounds,
    sums: quotas.sums,
    after: desired.resources,
    before: row === undefined ? undefined : baseOf(row).resources,
  };
}

async function readStored(
  db: ControlDatabase | Tx,
  org: OrgOfDatabases,
  row: DatabaseRow | undefined,
  request: PlanRequest,
  requestedState: Wanted,
): Promise<Stored> {
  const base = row === undefined ? undefined : baseOf(row);
  const hashes = [base?.environment, requestedState.environment].filter((hash) => typeof hash === "string");
  const images = await db
    .selectFrom("control.images")
    .select(["hash", "state", "environment"])
    .where("org_id", "=", org.id)
    .where("hash", "in", ["", ...hashes])
    .execute();
  const tree = await db
    .selectFrom("control.trees")
    .select("entries")
    .where("org_id", "=", org.id)
    .where("digest", "=", base?.tree ?? "")
    .executeTakeFirst();
  const sizes = await readSizes(
    db,
    org.id,
    request.files.flatMap(({ chunks }) => chunks),
  );
  return {
    environment: images.find(({ hash }) => hash === base?.environment)?.environment ?? null,
    files: tree?.entries,
    is_built: images.some(({ hash, state }) => hash === requestedState.environment && state === "ready"),
    missing: findMissingFiles(request.files, sizes),
    missing_bytes: countMissing(request.files, sizes),
  };
}

/** Counts each missing blob once, however many files contain it. */
function countMissing(entries: readonly TreeEntry[], sizes: ReadonlyMap<string, number>): number {
  const missing = new Map<string, number>();
  for (const { chunks, size } of entries) {
    for (const [at, digest] of chunks.entries()) {
      if (!sizes.has(digest)) missing.set(digest, Math.min(CHUNK_BYTES, size - at * CHUNK_BYTES));
    }
  }
  return [...missing.values()].reduce((sum, bytes) => sum + bytes, 0);
}

async function findOpenKind(db: ControlDatabase | Tx, databaseId: string): Promise<string | null> {
  const row = await db
    .selectFrom("control.operations")
    .select("kind")
    .where("database_id", "=", databaseId)
    .where("state", "in", ["pending", "running"])
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.kind ?? null;
}

/** @throws database_quota */
async function refuseFull(db: ControlDatabase | Tx, org: OrgOfDatabases, uri: string): Promise<void> {
  const { rows } = await sql<{ quota: number; databases: number; leaving: number }>`
    select o.database_quota as quota, count(d.id)::int as databases,
      (count(d.id) filter (where d.state = 'DELETING'))::int as leaving
    from control.organizations o left join control.databases d on d.org_id = o.id
    where o.id = ${org.id} group by o.id`.execute(db);
  const [found] = rows;
  if (found === undefined || found.databases < found.quota) return;
  const leaving = found.leaving === 0 ? "" : `, ${found.leaving} of them being deleted`;
  throw appError("database_quota", {
    detail: `${uri} exceeds the quota: ${org.name} has ${found.databases} databases${leaving}; the maximum is ${found.quota}.`,
    hint: "Delete one at once (cli db delete --now), or ask the operator of the server for more.",
    meta: { quota: found.quota, databases: found.databases },
  });
}

function nameTaken(uri: string, row: DatabaseRow): Error {
  const until = row.purge_at?.toISOString() ?? "then";
  return appError("database_exists", {
    detail: `${uri} is being deleted. Its name becomes available when its storage is deleted, at ${until}.`,
    hint: `Take the deletion back: cli db undelete ${uri}`,
    meta: { uri, state: row.state, purged_at: until },
  });
}
