import { appError } from "@appdb/contract/errors";
import type { OnError } from "@appdb/contract/jobs";
import type { Manifest } from "@appdb/contract/manifest";
import { parseTablePath } from "@appdb/contract/names";
import type { SchemaPlan, TablePlan } from "@appdb/contract/plan";
import type { TableChange } from "@appdb/contract/routes/table-changes";
import type { Catalog, CatalogTable } from "../catalog/catalog.ts";
import { bumpCatalog, lockCatalog } from "../catalog/catalog-store.ts";
import { moveTable } from "../catalog/ddl.ts";
import { deleteFolder, listFolders, storeFolder } from "../catalog/folders.ts";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { checkTables } from "../endpoints/check-manifest.ts";
import { afterUndo, isBeingUndone } from "../jobs/previous-values/wait-for-undo.ts";
import type { SqlConnection } from "../ports.ts";
import { SqlError } from "../ports.ts";
import { type ApplyDeps, applyOnce, changeWhenFree } from "../schema/apply-schema.ts";
import { rememberChanges } from "../schema/changes.ts";
import { dropTableOp, dropTables, dropViewOp } from "../schema/drop-tables.ts";
import { planInspected } from "../schema/inspect-plan.ts";
import type { SchemaPlanInput } from "../schema/plan-schema.ts";
import { otherProject } from "../schema/plan-views.ts";
import { quoteTable } from "../sql/quote.ts";
import { folderSchema } from "../target.ts";
import type { Step } from "./change-step.ts";
import type { Creations } from "./creations.ts";
import { nameOf } from "./dependents.ts";
import { folderOp, onlyChanged, opOf, planOf, tablePlan, withinDatabase } from "./describe-change.ts";
import { jobsOfSameChange, tablesPlannedAgainst } from "./earlier-jobs.ts";
import { followColumns } from "./follow-columns.ts";
import { describeFolderMove, moveFolder, refuseOpenJobs } from "./move-folder.ts";
import { planChange, queriesIn } from "./plan-change.ts";
import { findStored, requireStored, type Stored } from "./read-declaration.ts";
import { ofQuery, refuseImpossible, refuseOwned, refuseTablesOfOthers, refuseUnknown } from "./refuse-change.ts";
import { asRepeated } from "./repeated-addition.ts";
import { renameStored, setAside } from "./set-aside.ts";

export interface ChangeRequest {
  readonly change: TableChange;
  /** Prefix of the paths of the database's tables: `main`, `cloud://acme:main`. */
  readonly database: string;
  /** Functions that the change calls. */
  readonly functions: Manifest["functions"];
  readonly resource_pools: Manifest["resource_pools"];
  /** The runtime of these functions; null: that of each table. */
  readonly runtime_id: string | null;
  readonly on_error: OnError;
  readonly dry_run: boolean;
  /** The local project of the caller, which owns new tables. */
  readonly project?: string | undefined;
  readonly isOtherProject?: SchemaPlanInput["isOtherProject"];
}

export interface ChangedTables {
  readonly plan: SchemaPlan;
  readonly jobs: readonly string[];
  /** The tables as they are declared now, of an update. */
  readonly manifest: Manifest | null;
  /** A table or view that is new, and whose values the jobs compute; `endCreation` ends its creation. */
  readonly creating: Creating | null;
}

export interface Creating {
  /** The path within the database. */
  readonly table: string;
  readonly folder: string;
  readonly created: Stored;
  /** The name of what it replaces, until the jobs have ended. */
  readonly aside: string | null;
}

/**
 * Changes one table or folder, or only plans it: everything in one transaction, or nothing. New values are computed by
 * jobs, whose ids are returned, with those of the same change that run already. Waits for jobs that are being undone.
 * @throws the errors of `planChange`; the abort's reason, then nothing was changed; app_invalid, schema_unsupported, other_project, has_dependents,
 * schema_lock_timeout, disk_full
 */
export async function changeTable(
  deps: ApplyDeps & { readonly creations?: Creations },
  request: ChangeRequest,
  signal?: AbortSignal,
): Promise<ChangedTables> {
  if (queriesIn(request).length > 0) throw ofQuery();
  const once = async (sql: SqlConnection): Promise<ChangedTables | undefined> => {
    const catalog = await loadCatalog(sql);
    if (await isBeingUndone(sql, tablesPlannedAgainst(request, catalog))) return undefined;
    if (await deps.creations?.areEnding(sql, request.change)) return undefined;
    return await run(sql, await asRepeated(sql, request, catalog), catalog, await listFolders(sql));
  };
  if (request.dry_run) return await afterUndo(() => once(deps.sql), signal);
  const next_step = "End long transactions on the table, then make the change again.";
  const locked = (sql: SqlConnection) => lockCatalog(sql).then(() => once(sql));
  return await afterUndo(() => changeWhenFree(deps, { target: request.database, next_step }, locked), signal);
}

/** Plans a change of a database that has no catalog yet. @throws the errors of `planChange`, app_invalid */
export async function planFirstChange(request: ChangeRequest, catalog: Catalog): Promise<ChangedTables> {
  if (queriesIn(request).length > 0) throw ofQuery();
  const none: SqlConnection = {
    query: () => Promise.reject(new Error("an empty database has no rows to ask for")),
  };
  return await run(none, { ...request, dry_run: true }, catalog, []);
}

async function run(
  sql: SqlConnection,
  request: ChangeRequest,
  catalog: Catalog,
  folders: readonly string[],
): Promise<ChangedTables> {
  const step = planChange({ ...request, catalog, folders });
  switch (step.kind) {
    case "nothing": {
      const plan = planOf(request, catalog, {});
      return { plan, jobs: await jobsOfSameChange(sql, request, catalog, plan), manifest: null, creating: null };
    }
    case "apply":
      return await update(sql, request, catalog, step);
    case "drop":
      return await drop(sql, request, catalog, step);
    case "move":
      return await move(sql, request, catalog, step);
    case "move_folder": {
      refuseOthers(request, step.moved);
      await refuseOpenJobs(sql, request.database, step);
      const plan = planOf(request, catalog, describeFolderMove(request.database, step));
      const changed = request.dry_run ? [] : await moveFolder(sql, request.database, step);
      return await finish(sql, request, plan, changed);
    }
    case "create_folder": {
      const op = folderOp(request, step.folder, "add");
      if (!request.dry_run) await storeFolder(sql, step.folder);
      return await finish(sql, request, planOf(request, catalog, { ops: [op] }), []);
    }
  }
}

async function update(
  sql: SqlConnection,
  request: ChangeRequest,
  before: Catalog,
  step: Extract<Step, { kind: "apply" }>,
): Promise<ChangedTables> {
  const { manifest, target } = step;
  const functions = new Map([...before.functions, ...request.functions.map((fn) => [fn.id, fn] as const)]);
  refuseUnknown(manifest, functions);
  await checkTables(manifest, functions);
  refuseOthers(request, [...step.replaced, ...namedBy(request, before)]);
  const aside = await asideOf(sql, request, before, step);
  const catalog = aside === undefined ? await replace(sql, request, before, step.replaced) : await loadCatalog(sql);
  const { isOtherProject, on_error: onError, project, runtime_id: runtimeId } = request;
  const isNew = step.of === "new";
  const { change } = request;
  const takesCode = step.of !== "known" || request.functions.length > 0;
  const { plan } = await planInspected(sql, {
    manifest,
    catalog,
    target,
    ...(isOtherProject === undefined ? {} : { isOtherProject }),
  });
  // a plan of models shows what is impossible, as the plan of an application file does
  if (!(request.dry_run && step.of === "models")) refuseImpossible(plan);
  refuseTablesOfOthers(plan);
  if (request.dry_run) return { plan: onlyChanged(plan), jobs: [], manifest, creating: null };
  const earlier = step.of === "new" ? [] : await jobsOfSameChange(sql, request, catalog, plan);
  const applied = await applyOnce(
    sql,
    {
      manifest,
      target,
      catalog_version: catalog.version,
      allow_destructive: change.change !== "update_tables" || change.allow_destructive,
      // Without functions, a table keeps the code that its columns call.
      runtime_id: takesCode ? runtimeId : null,
      on_error: onError,
      made_by: null,
      ...(project === undefined || !takesCode ? {} : { project }),
      ...(isOtherProject === undefined ? {} : { isOtherProject }),
    },
    null,
  );
  if (!isNew) await followColumns(sql, before);
  const created = isNew ? await creatingOf(sql, request, aside) : null;
  const creating = applied.jobs.length === 0 ? null : created;
  if (creating === null && created !== null) await settleCreation(sql, request, created, { failed: false });
  return { plan: onlyChanged(applied.plan), jobs: [...earlier, ...applied.jobs], manifest, creating };
}

/** The stored tables that a change names: the one that it changes, or the base of a new view. */
function namedBy({ change, database }: ChangeRequest, catalog: Catalog): readonly Stored[] {
  if (!("table" in change)) return [];
  const { target, table } = parseTablePath(`${database}/${change.table}`);
  const name = change.change === "create_table" ? change.definition.view?.base : table;
  const found = name === undefined ? undefined : findStored(catalog, folderSchema(target.text), name);
  return found === undefined ? [] : [found];
}

/**
 * Renames what a view replaces, if the view has values that a job computes: they can fail. Returns its name until then;
 * undefined if it is to be dropped at once.
 */
async function asideOf(
  sql: SqlConnection,
  request: ChangeRequest,
  catalog: Catalog,
  { manifest: { tables }, replaced: [replaced] }: Extract<Step, { kind: "apply" }>,
): Promise<string | undefined> {
  if (request.dry_run || replaced === undefined) return undefined;
  const declared = tables.find(({ name }) => name === nameOf(replaced));
  return declared?.view === undefined ? undefined : await setAside(sql, request, catalog, replaced);
}

async function creatingOf(
  sql: SqlConnection,
  { change, database }: ChangeRequest,
  aside: string | undefined,
): Promise<Creating> {
  if (change.change !== "create_table") throw new TypeError("Only a new table or view is created.");
  const path = parseTablePath(`${database}/${change.table}`);
  const created = requireStored(await loadCatalog(sql), path);
  return { table: change.table, folder: folderSchema(path.target.text), created, aside: aside ?? null };
}

/**
 * Ends the creation of a table or view whose jobs have ended. What it replaced is dropped. If a job has failed, nothing
 * is left of the creation, and what it was to replace has its name again.
 * @throws schema_lock_timeout, has_dependents
 */
export async function endCreation(
  deps: ApplyDeps,
  request: ChangeRequest,
  creating: Creating,
  end: { readonly failed: boolean },
): Promise<void> {
  const nextStep = `Drop ${request.database}/${creating.table}, then create it again.`;
  await changeWhenFree(deps, { target: request.database, next_step: nextStep }, async (sql) => {
    await lockCatalog(sql);
    await settleCreation(sql, request, creating, end);
  });
}

async function settleCreation(
  sql: SqlConnection,
  request: ChangeRequest,
  { aside, created, folder: first }: Creating,
  { failed }: { readonly failed: boolean },
): Promise<void> {
  const before = await loadCatalog(sql);
  const { table, view } = created;
  // Someone may have moved the folder.
  const same =
    view === undefined
      ? before.tables.find(({ id }) => id === table.id)
      : before.views.find(({ id }) => id === view.id);
  const folder = same?.folder ?? first;
  const drop = async (name: string): Promise<void> => {
    const change = { change: "drop_table", table: withinDatabase(folder, name), force: false } as const;
    const dropped: ChangeRequest = { ...request, change: { ...change, if_not_exists: "ignore" } };
    await run(sql, dropped, await loadCatalog(sql), []);
  };
  const name = nameOf(created);
  const now = findStored(before, folder, name);
  // Someone may have dropped it, or made another one.
  const isOwn = now?.table.id === created.table.id && now.view?.id === created.view?.id;
  if (failed && isOwn) await drop(name);
  if (aside === null) return;
  if (!failed) return await drop(aside);
  if (isOwn || now === undefined) await renameStored(sql, request, { folder, from: aside, to: name });
}

/** Drops what a new or moved table replaces. A plan only leaves it out. */
async function replace(
  sql: SqlConnection,
  { dry_run: isDry }: ChangeRequest,
  catalog: Catalog,
  replaced: readonly Stored[],
): Promise<Catalog> {
  if (replaced.length === 0) return catalog;
  if (isDry) {
    const gone = new Set(replaced.map(({ table, view }) => view ?? table));
    return {
      ...catalog,
      tables: catalog.tables.filter((table) => !gone.has(table)),
      views: catalog.views.filter((view) => !gone.has(view)),
    };
  }
  await bumpCatalog(sql, await dropTables(sql, catalog, partsOf(replaced)));
  return await loadCatalog(sql);
}

function partsOf(dropped: readonly Stored[]): Parameters<typeof dropTables>[2] {
  return {
    views: dropped.flatMap(({ view }) => view ?? []),
    tables: dropped.flatMap(({ table, view }) => (view === undefined ? [table] : [])),
  };
}

async function drop(
  sql: SqlConnection,
  request: ChangeRequest,
  catalog: Catalog,
  { dropped, folders }: Extract<Step, { kind: "drop" }>,
): Promise<ChangedTables> {
  refuseOthers(request, dropped);
  const tables: TablePlan[] = [];
  for (const one of dropped) {
    const { folder } = one.view ?? one.table;
    const target = folder === "public" ? request.database : `${request.database}/${folder}`;
    const op =
      one.view === undefined
        ? dropTableOp({ target }, one.table, await countRows(sql, one.table))
        : dropViewOp({ target }, one.view);
    tables.push(tablePlan(one, `${target}/${nameOf(one)}`, { ...op, name: nameOf(one) }));
  }
  const ops = folders.map((folder) => folderOp(request, folder, "drop"));
  const plan = planOf(request, catalog, { tables, ops });
  if (request.dry_run) return { plan, jobs: [], manifest: null, creating: null };
  const changed = await dropTables(sql, catalog, partsOf(dropped));
  for (const folder of folders.toReversed()) await dropFolder(sql, folder);
  return await finish(sql, request, plan, changed);
}

async function dropFolder(sql: SqlConnection, folder: string): Promise<void> {
  try {
    await deleteFolder(sql, folder);
  } catch (error) {
    if (!(error instanceof SqlError) || error.sqlstate !== "2BP01") throw error;
    throw appError("has_dependents", {
      detail: `The folder '${folder}' has tables or other objects that this product did not create. Nothing was changed.`,
      hint: `Drop them with psql: \\dt "${folder}".*`,
      cause: error,
    });
  }
}

async function countRows(sql: SqlConnection, table: CatalogTable): Promise<number> {
  const { rows } = await sql.query({ text: `select count(*) from ${quoteTable(table)}` });
  return Number(rows[0]?.[0]);
}

async function move(
  sql: SqlConnection,
  request: ChangeRequest,
  catalog: Catalog,
  { replaced, table, to }: Extract<Step, { kind: "move" }>,
): Promise<ChangedTables> {
  refuseOthers(request, [{ table }, ...replaced]);
  const from = withinDatabase(table.folder, table.name);
  const path = withinDatabase(to.folder, to.name);
  const op = opOf(to.name, "alter", "table", {
    description: `the table will be moved from '${from}'; its rows, indexes and errors stay`,
    details: { moved_from: from },
  });
  const plan = planOf(request, catalog, { tables: [tablePlan({ table }, `${request.database}/${path}`, op)] });
  if (request.dry_run) return { plan, jobs: [], manifest: null, creating: null };
  await replace(sql, request, catalog, replaced);
  if (to.folder !== "public") await storeFolder(sql, to.folder);
  await sql.query({ text: moveTable(table, to.folder) });
  await sql.query({ text: "update appdb.tables set folder = $2 where id = $1", values: [table.id, to.folder] });
  if (table.name !== to.name) {
    await renameStored(sql, request, { folder: to.folder, from: table.name, to: to.name });
  }
  return await finish(sql, request, plan, [table.id]);
}

/** Gives the catalog its next version, and the history its lines. */
async function finish(
  sql: SqlConnection,
  request: ChangeRequest,
  plan: SchemaPlan,
  changed: readonly number[],
): Promise<ChangedTables> {
  if (request.dry_run) return { plan, jobs: [], manifest: null, creating: null };
  const version = await bumpCatalog(sql, changed);
  await rememberChanges(sql, version, plan, null);
  const isApplied = { status: "applied" as const };
  const done: SchemaPlan = {
    ...plan,
    ...isApplied,
    catalog_version: version,
    ops: plan.ops.map((op) => ({ ...op, ...isApplied })),
    tables: plan.tables.map((table) => ({
      ...table,
      ...isApplied,
      ops: table.ops.map((op) => ({ ...op, ...isApplied })),
    })),
  };
  return { plan: done, jobs: [], manifest: null, creating: null };
}

/** @throws other_project */
function refuseOthers({ database, isOtherProject }: ChangeRequest, changed: readonly Stored[]): void {
  refuseOwned(
    changed.flatMap((one): [string, string][] => {
      const { folder, project } = one.view ?? one.table;
      const owner = otherProject({ project: project ?? null }, isOtherProject);
      return owner === undefined ? [] : [[`${database}/${withinDatabase(folder, nameOf(one))}`, owner]];
    }),
  );
}
