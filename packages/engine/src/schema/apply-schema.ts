import { setTimeout as sleep } from "node:timers/promises";
import { type AppError, appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import type { OnError } from "@appdb/contract/jobs";
import type { Manifest, ManifestTable } from "@appdb/contract/manifest";
import { refuseOtherProjects, unsupportedHint } from "@appdb/contract/other-projects";
import type { SchemaPlan } from "@appdb/contract/plan";
import { FREE_MACHINE_DISK } from "../answers/answers.ts";
import type { CatalogColumn } from "../catalog/catalog.ts";
import {
  bumpCatalog,
  ignoreErrorsOfJobs,
  lockCatalog,
  rememberRenames,
  rememberRowsOf,
  rememberRuntime,
  storeExpression,
} from "../catalog/catalog-store.ts";
import { isSameExpr } from "../catalog/compare.ts";
import { loadCatalog } from "../catalog/load-catalog.ts";
import type { SchemaOperation } from "../catalog/operations.ts";
import { renameInExpr } from "../catalog/rename-catalog.ts";
import { overColumns, settled, shadowNames, shadowsOf } from "../catalog/shadow-columns.ts";
import { LOCK_PAUSE_MS } from "../catalog/table-locks.ts";
import { READ_LIMITS, type ReadLimits, WaitingChange } from "../catalog/waiting-change.ts";
import { madeRowsIn, withoutLost } from "../expressions/made-rows.ts";
import { noticeCode, rememberCode } from "../jobs/remember-code.ts";
import type { Clock, Logger, SqlConnection, SqlPool } from "../ports.ts";
import { SqlError } from "../ports.ts";
import { quoteTable } from "../sql/quote.ts";
import { folderSchema } from "../target.ts";
import { lowerViews } from "../views/lower-views.ts";
import { installRowTriggers } from "../views/row-triggers.ts";
import { rememberViews, storeViews } from "../views/view-store.ts";
import { applyOperations } from "./apply-operations.ts";
import { describeChangesSince, rememberChanges } from "./changes.ts";
import { inspectAhead, planInspected, tablesToCheck } from "./inspect-plan.ts";
import { withKeptCopies } from "./kept-copies.ts";
import { planSchema, type SchemaPlanInput } from "./plan-schema.ts";
import type { ViewOperation } from "./plan-views.ts";

/** How long a change tries to lock its tables. It waits longer for reads, which end by their limits. */
const GIVE_UP_MS = 10_000;

export interface ApplyDeps {
  readonly sql: SqlPool;
  readonly clock: Clock;
  readonly log: Logger;
  /** For tests, which wait less. */
  readonly read_limits?: ReadLimits;
}

export interface ApplyInput {
  readonly manifest: Manifest;
  readonly target: string;
  /** The version that the printed plan was made against. */
  readonly catalog_version: number;
  readonly allow_destructive: boolean;
  /** Also recomputes values that come from previous code of the functions. */
  readonly recompute?: boolean;
  /** The runtime in which this update's jobs run the application's functions; null: that of each table. */
  readonly runtime_id: string | null;
  /** What made the change, for the history; default: the manifest's file. */
  readonly made_by?: string | null;
  /** The handling of failed cells in this update's jobs; default `abort`. */
  readonly on_error?: OnError;
  /** The local project of the update; its tables store it. */
  readonly project?: string;
  /** As for a plan. Without it, the update takes over tables of other projects. */
  readonly isOtherProject?: SchemaPlanInput["isOtherProject"];
}

/**
 * Changes the tables of a target to those that the manifest declares: all definitions in one transaction, or nothing.
 * Slow work (filling and recomputing columns, building indexes on tables with rows) is queued as jobs, whose ids are
 * returned. A filling column is hidden until its job has ended. The returned plan describes the state afterwards. An
 * update without changes still stores the runtime of the project's own tables, which later jobs use.
 * @throws catalog_moved when the tables changed since the plan; schema_unsupported, before destructive_refused, and
 * then nothing is applied; other_project; schema_lock_timeout; disk_full
 */
export async function applySchema(
  deps: ApplyDeps,
  input: ApplyInput,
): Promise<{ plan: SchemaPlan; jobs: readonly string[] }> {
  const since = await inspectAhead(deps.sql, { ...input, catalog: await loadCatalog(deps.sql) });
  return await changeWhenFree(deps, input, (connection) => applyOnce(connection, input, since));
}

/**
 * Runs a change of tables in a transaction, again until no other one has locked them.
 * @throws schema_lock_timeout; schema_unsupported for tables or columns that the catalog does not know; disk_full
 */
export async function changeWhenFree<Result>(
  deps: ApplyDeps,
  input: Pick<ApplyInput, "target"> & { readonly next_step?: string },
  work: (connection: SqlConnection) => Promise<Result>,
): Promise<Result> {
  const { clock, log, read_limits: limits = READ_LIMITS, sql } = deps;
  const began = clock.now();
  const change = new WaitingChange(sql, limits);
  for (;;) {
    const attempt = await change.attempt(work).catch((error: unknown) => {
      throw explain(error, input);
    });
    if ("result" in attempt) return attempt.result;
    const waitedMs = clock.now() - began;
    if (waitedMs >= (change.awaits_reads ? limits.read_ms + GIVE_UP_MS : GIVE_UP_MS)) {
      throw lockTimeout(input, waitedMs, attempt.conflict);
    }
    log.debug({ target: input.target }, "tables are in use; the update will be retried");
    await sleep(LOCK_PAUSE_MS);
  }
}

/** Applies an update in the transaction of `changeWhenFree`. @throws as `applySchema` */
export async function applyOnce(
  sql: SqlConnection,
  input: ApplyInput,
  since: string | null,
): Promise<{ plan: SchemaPlan; jobs: readonly string[] }> {
  const version = await lockCatalog(sql);
  if (version !== input.catalog_version) {
    throw stalePlan(input, version, await describeChangesSince(sql, input.catalog_version));
  }
  const catalog = await loadCatalog(sql);
  const { plan, operations, views } = await planChecked(sql, { ...input, catalog }, since);
  refuse(plan, operations, input.allow_destructive);
  await noticeCode(sql, input.manifest, catalog);
  const folder = folderSchema(input.target);
  const manifest = lowerViews(input.manifest);
  const own = ownTables(input, plan);
  if (operations.length === 0 && views.length === 0) {
    await rememberRowsOf(sql, folder, manifest.tables);
    await rememberRuntime(sql, folder, own, input);
    await rememberViews(sql, folder, manifest.views, input.project);
    return { plan: { ...plan, status: "applied" }, jobs: [] };
  }
  const done = await applyOperations(sql, folder, operations, input.runtime_id);
  await storeViews(sql, folder, views.map(storedView));
  await rememberRowsOf(sql, folder, manifest.tables);
  const copied = withKeptCopies(input.manifest, { catalog: settled(catalog), target: input.target });
  const refreshed = await refreshMakers(sql, folder, copied.tables);
  await installTriggers(sql, folder, operations);
  if (input.on_error === "ignore") await ignoreErrorsOfJobs(sql, done.jobs);
  await rememberRenames(sql, folder, manifest.tables);
  await rememberRuntime(sql, folder, own, input);
  await rememberViews(sql, folder, manifest.views, input.project);
  const isNew = (column: CatalogColumn) => column.computed !== null && column.code == null && column.state === "ready";
  await rememberCode(sql, (column, table) => table.has_rows === false || isNew(column));
  const after = await bumpCatalog(sql, [...new Set([...done.table_ids, ...refreshed])]);
  await rememberChanges(sql, after, plan, input.made_by === undefined ? input.manifest.app_file : input.made_by);
  return { plan: planAfter(plan, after), jobs: done.jobs };
}

/**
 * Stores the declared expressions of columns that make rows of iterator views, if only columns of these rows changed,
 * which are filled in the views' tables. Other changes are recomputed, and their expressions stored with the values.
 * Returns the ids of their tables: rows that services of the previous file make are pending from now on.
 */
async function refreshMakers(
  sql: SqlConnection,
  folder: string,
  tables: readonly ManifestTable[],
): Promise<readonly number[]> {
  const refreshed: number[] = [];
  const stored = (await loadCatalog(sql)).tables.filter((table) => table.folder === folder);
  for (const { columns, name } of tables) {
    const table = stored.find((one) => one.name === name);
    if (table === undefined) continue;
    const shadows = shadowsOf(table);
    const names = shadowNames(table, new Set(shadows.map(({ column }) => column.name)));
    for (const { computed, name: columnName } of columns) {
      if (computed === null || madeRowsIn(computed.expr) === undefined) continue;
      const column = table.columns.find((one) => one.name === columnName);
      if (column?.computed == null) continue;
      const isSame = (before: Expr): boolean => isSameExpr(withoutLost(before, computed.expr), computed.expr);
      const isOther = isSame(column.computed.expr) && (await storeExpression(sql, column, computed.expr));
      if (isOther) refreshed.push(table.id);
      const shadow = shadows.find((one) => one.column === column)?.shadow;
      if (shadow?.computed == null || !isSame(overColumns(shadow.computed.expr, shadows))) continue;
      await storeExpression(sql, shadow, renameInExpr(computed.expr, names));
    }
  }
  return refreshed;
}

/**
 * Installs the triggers of iterator views whose table, or whose base's table, is made or changed. The file need not
 * declare these views: their triggers have names of the base, which may change.
 */
async function installTriggers(
  sql: SqlConnection,
  folder: string,
  operations: readonly SchemaOperation[],
): Promise<void> {
  const touched = new Set(
    operations.map((operation) => (operation.kind === "create_table" ? operation.to.name : operation.table.name)),
  );
  const tables = (await loadCatalog(sql)).tables.filter((table) => table.folder === folder);
  for (const view of tables) {
    const base = tables.find((table) => table.name === view.rows_of?.table);
    if (base === undefined || !(touched.has(view.name) || touched.has(base.name))) continue;
    // A fill that failed dropped the column that makes the rows; the next update that declares the view makes it.
    if (!base.columns.some(({ name }) => name === view.rows_of?.column)) continue;
    await installRowTriggers(sql, view, base);
  }
}

function storedView(operation: ViewOperation): Parameters<typeof storeViews>[2][number] {
  if (operation.kind === "refuse_view") throw new Error("an unsupported operation is never carried out");
  return { id: operation.kind === "alter_view" ? operation.view.id : null, to: operation.to };
}

/** Declared tables that the update's project owns or takes over. Others keep their project and their runtime. */
function ownTables({ manifest, target }: ApplyInput, plan: SchemaPlan): readonly ManifestTable[] {
  const others = new Set(plan.tables.filter(({ project }) => project !== undefined).map(({ path }) => path));
  return lowerViews(manifest).tables.filter(({ name }) => !others.has(`${target}/${name}`));
}

/** Plans again with the facts of the rows, which writers can no longer change. Readers continue while all rows are
 *  checked. */
async function planChecked(
  sql: SqlConnection,
  input: SchemaPlanInput,
  since: string | null,
): Promise<ReturnType<typeof planSchema>> {
  const planned = planSchema(input);
  for (const table of tablesToCheck(input.catalog, planned.operations)) {
    await sql.query({ text: `lock table ${quoteTable(table)} in share mode` });
  }
  return planInspected(sql, input, since);
}

/** Unsupported comes first: permission for destruction would not help an impossible plan. @throws other_project */
function refuse(plan: SchemaPlan, operations: readonly SchemaOperation[], allowDestructive: boolean): void {
  const refused: SchemaPlan = { ...plan, status: "refused" };
  const unsupported = plan.tables.flatMap((table) =>
    table.ops.filter((op) => op.severity === "unsupported").map((op) => `${table.path}: ${op.description}`),
  );
  if (unsupported.length > 0) {
    throw appError("schema_unsupported", {
      detail: `The change is not possible. ${unsupported.join(". ")}.`,
      hint: unsupportedHint(plan),
      meta: { plan: refused },
    });
  }
  refuseOtherProjects(plan);
  const destructive = operations.filter((operation) => operation.severity === "destructive").length;
  if (destructive === 0 || allowDestructive) return;
  throw appError("destructive_refused", {
    detail: `${destructive} of the operations would destroy data: ${describeDestroyed(plan).join("; ")}. Nothing was changed.`,
    hint:
      plan.app_file === ""
        ? "Allow it: allow_destructive=True"
        : `Allow it with: cli schema update ${plan.app_file} ${plan.target} --allow-destructive`,
    meta: { plan: refused, destructive },
  });
}

function describeDestroyed(plan: SchemaPlan): readonly string[] {
  return plan.tables.flatMap((table) =>
    table.ops.filter((op) => op.destructive).map((op) => `${table.path}: ${op.description}`),
  );
}

function planAfter(plan: SchemaPlan, version: number): SchemaPlan {
  return {
    ...plan,
    catalog_version: version,
    tables: plan.tables.map((table) =>
      table.resolution === "up_to_date"
        ? table
        : {
            ...table,
            exists: true,
            status: "applied" as const,
            ops: table.ops.map((op) => ({ ...op, status: "applied" as const })),
          },
    ),
    status: "applied",
    in_agreement: true,
  };
}

function stalePlan(input: ApplyInput, version: number, changes: string): AppError {
  return appError("catalog_moved", {
    detail: `The tables of ${input.target} were changed by someone else since the plan was made. ${changes} This update changed nothing.`,
    hint: `See the new plan: cli schema diff ${input.manifest.app_file} ${input.target}`,
    meta: { planned_version: input.catalog_version, version },
  });
}

function lockTimeout(
  input: Pick<ApplyInput, "target"> & { readonly next_step?: string },
  waitedMs: number,
  cause: unknown,
): AppError {
  return appError("schema_lock_timeout", {
    detail: `The tables of ${input.target} were in use by other transactions for ${Math.floor(waitedMs / 1000)} seconds. Nothing was changed.`,
    hint:
      input.next_step ??
      "End long transactions on these tables (psql: select * from pg_stat_activity), then run the update again.",
    cause,
  });
}

/** Errors of PostgreSQL in spite of the plan: rows or relations unknown to the catalog. */
function explain(error: unknown, input: Pick<ApplyInput, "target">): unknown {
  if (!(error instanceof SqlError)) return error;
  switch (error.sqlstate) {
    case "23502":
      return appError("schema_unsupported", {
        detail: `Column '${error.column ?? "?"}' cannot be NOT NULL: its table now has rows without a value. Nothing was changed.`,
        hint: "Declare the column as nullable (`T | None`).",
        cause: error,
      });
    case "42P07":
    case "42701":
      return appError("schema_unsupported", {
        detail: `A table or column with a declared name already exists in ${input.target}, but was not created by this product. Nothing was changed.`,
        hint: "Rename it with psql, or give the model another name.",
        cause: error,
      });
    case "42P01":
    case "42703":
      return appError("schema_unsupported", {
        detail: `A table or column in the catalog of ${input.target} no longer exists in the database. Nothing was changed.`,
        hint: "Restore it with psql, or delete its row from appdb.tables or appdb.columns.",
        cause: error,
      });
    case "53100":
      return appError("disk_full", {
        detail: `The disk of the database's machine is full; the tables of ${input.target} were not changed.`,
        hint: FREE_MACHINE_DISK,
        cause: error,
      });
    default:
      return error;
  }
}
