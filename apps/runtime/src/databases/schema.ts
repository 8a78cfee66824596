import { existsSync } from "node:fs";
import { appError } from "@appdb/contract/errors";
import type { OnError } from "@appdb/contract/jobs";
import type { Manifest } from "@appdb/contract/manifest";
import type { OpenJob, SchemaPlan } from "@appdb/contract/plan";
import type { Progress } from "@appdb/contract/routes/local";
import type { Runtime } from "@appdb/contract/runtime";
import type { Catalog } from "@appdb/engine/catalog/catalog";
import { listFolders, refuseDevices } from "@appdb/engine/catalog/folders";
import { emptyCatalog, loadCatalog } from "@appdb/engine/catalog/load-catalog";
import { countErrors } from "@appdb/engine/compute/list-errors";
import { listOpenJobs } from "@appdb/engine/jobs/list-open-jobs";
import { afterUndo, isBeingUndone } from "@appdb/engine/jobs/previous-values/wait-for-undo";
import { isCodeKnown, noticeCode } from "@appdb/engine/jobs/remember-code";
import { watchJobs } from "@appdb/engine/jobs/watch-jobs";
import { compileManifestChecks } from "@appdb/engine/kinds/json-checks";
import type { Clock, Logger, SqlConnection, SqlPool } from "@appdb/engine/ports";
import { applySchema } from "@appdb/engine/schema/apply-schema";
import { NO_FACTS } from "@appdb/engine/schema/facts";
import { planInspected } from "@appdb/engine/schema/inspect-plan";
import { planSchema } from "@appdb/engine/schema/plan-schema";
import { previewRecomputes } from "@appdb/engine/schema/preview-recompute";
import { planPrune, pruneTables } from "@appdb/engine/schema/prune-tables";
import type { QueryLimits } from "@appdb/engine/sql/query-limits";
import { folderSchema } from "@appdb/engine/target";
import type { RuntimeStore } from "../code/runtime-store.ts";
import { checkDestinations } from "../media/check-destinations.ts";
import type { CreateFillRunner } from "./fill-runner.ts";
import type { OpenDatabases } from "./open-databases.ts";

/** Location of the tables of a request. A parsed local target satisfies it. */
export interface TargetFolder {
  /** Database name in PostgreSQL. */
  readonly database: string;
  /** The target as users write it: `main/reports`, `cloud://acme:main/reports`. */
  readonly text: string;
}

export interface LocalSchemaDeps {
  readonly databases: OpenDatabases;
  readonly runtimes: Pick<RuntimeStore, "save" | "find">;
  /** Creates workers for a sample from the id of a stored runtime. */
  readonly createRunner: CreateFillRunner;
  readonly query_limits: QueryLimits;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called when the tables are those of the runtime's manifest, before fills have ended. */
  readonly onApplied?: (runtimeId: string) => void;
}

/**
 * Plans an update. A missing database is treated as empty and not created.
 * @throws app_invalid for a column with an invalid JSON Schema, or a destination that the target cannot use
 */
export async function planTarget(
  deps: Pick<LocalSchemaDeps, "databases">,
  input: { manifest: Manifest; target: TargetFolder },
): Promise<SchemaPlan> {
  await compileManifestChecks(input.manifest);
  checkDestinations(input.manifest, input.target.text);
  const { manifest, target } = input;
  const database = await deps.databases.find(target.database);
  if (database === undefined) return planSchema({ manifest, catalog: emptyCatalog(), target: target.text }).plan;
  const catalog = await loadCatalog(database.sql);
  return (await planInspected(database.sql, { manifest, catalog, target: target.text })).plan;
}

/**
 * Plans an update for display, with running jobs and a preview of recomputed columns. The preview computes some rows
 * and stores none. Waits for jobs of the declared tables that are being undone.
 * @throws app_invalid for a column with an invalid JSON Schema, or a destination that the target cannot use
 */
export async function planForPerson(
  deps: LocalSchemaDeps,
  input: { manifest: Manifest; target: TargetFolder; runtime: Runtime | null; recompute: boolean } & OfProject,
  signal: AbortSignal,
): Promise<SchemaPlan> {
  await compileManifestChecks(input.manifest);
  checkDestinations(input.manifest, input.target.text);
  const { target } = input;
  const database = await deps.databases.find(target.database);
  if (database === undefined) return planTarget(deps, input);
  const { sql } = database;
  const folder = folderSchema(target.text);
  const catalog = await catalogAfterUndo(sql, input.manifest, folder, signal);
  if (folder !== "public") refuseDevices(folder, await listFolders(sql));
  const { manifest, recompute } = input;
  const question = { manifest, catalog, target: target.text, recompute, ...othersOf(input) };
  const { plan, operations } = await planInspected(sql, question);
  // From now on a recompute knows that it runs this code.
  if (!isCodeKnown(input.manifest, catalog)) {
    await sql.transaction((connection) => noticeCode(connection, input.manifest, catalog));
  }
  const jobs = await openJobs(sql, catalog, target.text, plan);
  const isPossible = plan.summary.unsupported === 0 && operations.length > 0 && input.runtime !== null;
  if (!isPossible || input.runtime === null) return { ...(await withErrorCounts(sql, catalog, plan)), jobs };
  const recomputes = await previewRecomputes(
    {
      sql,
      udf: (...job) => deps.createRunner(database, ...job),
      clock: deps.clock,
      log: deps.log,
      query_limits: deps.query_limits,
    },
    {
      catalog,
      functions: input.manifest.functions,
      operations,
      runtime_id: deps.runtimes.save(input.runtime, input.manifest.app_file),
    },
    signal,
  );
  const previewed = planSchema({ ...question, facts: { ...NO_FACTS, recomputes } }).plan;
  return { ...(await withErrorCounts(sql, catalog, previewed)), jobs };
}

/** The catalog once no cancelled or failed job of a declared table is being undone. A plan against it stays true. */
async function catalogAfterUndo(
  sql: SqlConnection,
  { tables }: Manifest,
  folder: string,
  signal: AbortSignal,
): Promise<Catalog> {
  const declared = new Set(tables.map(({ name }) => name));
  return await afterUndo(async () => {
    const catalog = await loadCatalog(sql);
    const own = catalog.tables.filter((table) => table.folder === folder && declared.has(table.name));
    const ids = own.map(({ id }) => id);
    return (await isBeingUndone(sql, ids)) ? undefined : catalog;
  }, signal);
}

/** Adds the number of failing cells to each table. */
async function withErrorCounts(sql: SqlConnection, catalog: Catalog, plan: SchemaPlan): Promise<SchemaPlan> {
  const own = catalog.tables.filter((table) => table.folder === folderSchema(plan.target));
  const ids = new Map(own.map((table) => [`${plan.target}/${table.name}`, table.id]));
  const counts = await countErrors(sql, own);
  const countOf = (path: string) =>
    Object.entries(counts.get(ids.get(path) ?? -1) ?? {}).filter(([column]) => !column.includes("."));
  // Cells of a view's columns are cells of its table.
  const viewCells = [...counts.values()].flatMap((cells) => Object.entries(cells));
  const countOfView = (path: string) => {
    const prefix = `${path.slice(path.lastIndexOf("/") + 1)}.`;
    return [...viewCells.filter(([column]) => column.startsWith(prefix)), ...countOf(path)];
  };
  return {
    ...plan,
    tables: plan.tables.map((table) => ({
      ...table,
      error_count: (table.kind === "view" ? countOfView(table.path) : countOf(table.path)).reduce(
        (sum, [, cells]) => sum + cells,
        0,
      ),
    })),
  };
}

/** Project of a local request; hosted tables have none. */
interface OfProject {
  readonly project_root?: string;
  /** Whether tables of other projects are treated as the caller's. */
  readonly take_over?: boolean;
}

/** Ignores projects whose folder no longer exists, because they were moved or deleted. */
function othersOf({ project_root: projectRoot, take_over: takeOver }: OfProject): {
  isOtherProject?: (project: string) => boolean;
} {
  if (projectRoot === undefined || takeOver === true) return {};
  return { isOtherProject: (project) => project !== projectRoot && existsSync(project) };
}

export interface ApplyTargetInput extends OfProject {
  readonly manifest: Manifest;
  readonly target: TargetFolder;
  readonly runtime: Runtime;
  readonly catalog_version: number;
  readonly allow_destructive: boolean;
  readonly recompute: boolean;
  readonly on_error: OnError;
}

/**
 * Applies an update and waits for its fills and for running fills of earlier updates. When the signal aborts, fills
 * continue in the background.
 * @throws app_invalid, schema_unsupported, other_project, destructive_refused, catalog_moved, schema_lock_timeout, fill_failed, disk_full
 */
export async function applyTarget(
  deps: LocalSchemaDeps,
  input: ApplyTargetInput,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<SchemaPlan> {
  const { target } = input;
  checkDestinations(input.manifest, target.text);
  const { hold, sql } = await deps.databases.open(target.database);
  using _held = hold();
  const { manifest, catalog_version: catalogVersion, allow_destructive: allowDestructive, recompute } = input;
  const runtimeId = deps.runtimes.save(input.runtime, manifest.app_file);
  const { plan } = await applySchema(
    { sql, clock: deps.clock, log: deps.log },
    {
      manifest,
      target: target.text,
      catalog_version: catalogVersion,
      allow_destructive: allowDestructive,
      recompute,
      runtime_id: runtimeId,
      on_error: input.on_error,
      ...(input.project_root === undefined ? {} : { project: input.project_root }),
      ...othersOf(input),
    },
  );
  deps.onApplied?.(runtimeId);
  const jobs = await openJobs(sql, await loadCatalog(sql), target.text, plan);
  await watchJobs(
    { sql, clock: deps.clock },
    jobs.map((job) => job.id),
    onProgress,
    signal,
  );
  return plan;
}

export interface PruneTargetInput {
  readonly manifest: Manifest;
  readonly target: TargetFolder;
  /** Folder of the caller's project. Tables of other projects stay. Hosted tables have none. */
  readonly project_root?: string;
  /** Catalog version for which the drops were shown; null only shows them. */
  readonly catalog_version: number | null;
}

/** Drops tables that a manifest does not declare, or only lists them. @throws catalog_moved, schema_lock_timeout */
export async function pruneTarget(
  deps: Pick<LocalSchemaDeps, "databases" | "clock" | "log">,
  { manifest, target, project_root: projectRoot, catalog_version: catalogVersion }: PruneTargetInput,
): Promise<SchemaPlan> {
  const database = await deps.databases.find(target.database);
  if (database === undefined) return planTarget(deps, { manifest, target });
  const own = projectRoot === undefined ? {} : { project_root: projectRoot };
  const input = { manifest, target: target.text, ...othersOf(own) };
  const { sql } = database;
  if (catalogVersion === null) return planPrune(sql, input, await loadCatalog(sql));
  return pruneTables({ sql, clock: deps.clock, log: deps.log }, { ...input, catalog_version: catalogVersion });
}

/** Unfinished jobs of the declared tables. */
async function openJobs(sql: SqlPool, catalog: Catalog, target: string, plan: SchemaPlan): Promise<OpenJob[]> {
  const folder = folderSchema(target);
  const paths = new Set(plan.tables.map((table) => table.path));
  const ids = catalog.tables.flatMap((table) =>
    table.folder === folder && paths.has(`${target}/${table.name}`) ? [table.id] : [],
  );
  return listOpenJobs(sql, ids);
}

/** Opens the database of a service once its tables match the application. @throws schema_mismatch */
export async function openTarget(
  deps: Pick<LocalSchemaDeps, "databases">,
  input: { manifest: Manifest; target: TargetFolder },
): Promise<{ dsn: string; catalog_version: number }> {
  const { target } = input;
  const plan = await planTarget(deps, input);
  if (!isServable(plan)) throw schemaMismatch(plan, target);
  const database = await deps.databases.open(target.database);
  return { dsn: database.dsn, catalog_version: plan.catalog_version };
}

/** Whether every declared table matches. Tables of other applications do not matter. */
export function isServable(plan: SchemaPlan): boolean {
  return plan.tables.every((table) => table.resolution === "up_to_date");
}

function schemaMismatch(plan: SchemaPlan, target: TargetFolder): Error {
  const differing = plan.tables.filter((table) => table.resolution !== "up_to_date").map((table) => table.path);
  return appError("schema_mismatch", {
    detail: `The tables of ${target.text} do not match ${plan.app_file}: ${differing.join(", ")}.`,
    hint: `cli schema update ${plan.app_file} ${target.text}`,
    meta: { target: target.text, tables: differing },
  });
}
