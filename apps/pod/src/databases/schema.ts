import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import { type LocalTarget, parseLocalTarget } from "@appdb/contract/names";
import type { SchemaPlan } from "@appdb/contract/plan";
import type { Progress, Runtime } from "@appdb/contract/routes/local";
import { watchJobs } from "@appdb/engine/jobs/watch-jobs";
import type { Clock, Logger } from "@appdb/engine/ports";
import { compileManifestChecks } from "@appdb/engine/rows/json-checks";
import { applySchema } from "@appdb/engine/schema/apply-schema";
import { planInspected } from "@appdb/engine/schema/inspect-plan";
import { emptyCatalog, loadCatalog } from "@appdb/engine/schema/load-catalog";
import { planSchema } from "@appdb/engine/schema/plan-schema";
import type { OpenDatabases } from "./open-databases.ts";
import type { RuntimeStore } from "./runtime-store.ts";

export interface SchemaDeps {
  readonly databases: OpenDatabases;
  readonly runtimes: RuntimeStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Plans what an update would do. A database that does not exist is planned against as an empty one and not made.
 *  @throws app_invalid for a column whose JSON Schema is none */
export async function planTarget(
  deps: Pick<SchemaDeps, "databases">,
  input: { manifest: Manifest; target: string },
): Promise<SchemaPlan> {
  await compileManifestChecks(input.manifest);
  const target = parseLocalTarget(input.target);
  const database = await deps.databases.find(target.database);
  if (database === undefined) {
    return planSchema({ manifest: input.manifest, catalog: emptyCatalog(), target: target.text }).plan;
  }
  const catalog = await loadCatalog(database.sql);
  const planned = await planInspected(database.sql, { manifest: input.manifest, catalog, target: target.text });
  return planned.plan;
}

export interface ApplyTargetInput {
  readonly manifest: Manifest;
  readonly target: string;
  readonly runtime: Runtime;
  readonly catalog_version: number;
  readonly allow_destructive: boolean;
}

/**
 * Applies an update and waits for its fills. When the signal aborts the fills go on without a watcher.
 * @throws schema_unsupported, destructive_refused, catalog_moved, schema_lock_timeout, fill_failed
 */
export async function applyTarget(
  deps: SchemaDeps,
  input: ApplyTargetInput,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<SchemaPlan> {
  const target = parseLocalTarget(input.target);
  const { sql } = await deps.databases.open(target.database);
  const applied = await applySchema(
    { sql, clock: deps.clock, log: deps.log },
    {
      manifest: input.manifest,
      target: target.text,
      catalog_version: input.catalog_version,
      allow_destructive: input.allow_destructive,
      runtime_id: deps.runtimes.save(input.runtime),
    },
  );
  await watchJobs({ sql, clock: deps.clock }, applied.jobs, onProgress, signal);
  return applied.plan;
}

/** How a service reaches its database, once the tables are what the application declares. @throws schema_mismatch */
export async function openTarget(
  deps: Pick<SchemaDeps, "databases">,
  input: { manifest: Manifest; target: string },
): Promise<{ dsn: string; catalog_version: number }> {
  const target = parseLocalTarget(input.target);
  const plan = await planTarget(deps, input);
  if (!isServable(plan)) throw schemaMismatch(plan, target);
  const database = await deps.databases.open(target.database);
  return { dsn: database.dsn, catalog_version: plan.catalog_version };
}

/** True when every table that the application declares is as declared; tables of others do not matter. */
export function isServable(plan: SchemaPlan): boolean {
  return plan.tables.every((table) => table.resolution === "up_to_date");
}

function schemaMismatch(plan: SchemaPlan, target: LocalTarget): Error {
  const differing = plan.tables.filter((table) => table.resolution !== "up_to_date").map((table) => table.path);
  return appError("schema_mismatch", {
    detail: `The tables of ${target.text} are not what ${plan.app_file} declares: ${differing.join(", ")}.`,
    hint: `cli schema update ${plan.app_file} ${target.text}`,
    meta: { target: target.text, tables: differing },
  });
}
