import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import type { PlanOp, SchemaPlan } from "@appdb/contract/plan";
import type { Catalog, CatalogTable, CatalogView } from "../catalog/catalog.ts";
import { bumpCatalog, deleteColumn, deleteIndex, deleteTable, lockCatalog } from "../catalog/catalog-store.ts";
import { dropColumn, dropIndex } from "../catalog/ddl.ts";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { conditionColumn, ownColumns, viewColumnName } from "../catalog/sql-names.ts";
import type { Clock, SqlConnection, SqlPool } from "../ports.ts";
import { SqlError } from "../ports.ts";
import { quoteTable } from "../sql/quote.ts";
import { folderSchema } from "../target.ts";
import { dropRowTriggers } from "../views/row-triggers.ts";
import { deleteView } from "../views/view-store.ts";
import { describeChangesSince, rememberChanges } from "./changes.ts";
import { planSchema, type SchemaPlanInput } from "./plan-schema.ts";
import { otherProject } from "./plan-views.ts";

/** As for an update: a waiting DROP queues every reader behind it. */
const LOCK_TIMEOUT_MS = 400;
const RETRY_DELAY_MS = 150;
const GIVE_UP_MS = 10_000;

export interface PruneInput {
  readonly manifest: Manifest;
  readonly target: string;
  /** As for a plan: tables of other projects stay. */
  readonly isOtherProject?: SchemaPlanInput["isOtherProject"];
}

/**
 * The effect of a prune: it drops tables of the target that the file does not declare. `rows` counts the loss. A table
 * of another project has a blocked operation and stays.
 */
export async function planPrune(sql: SqlConnection, input: PruneInput, catalog: Catalog): Promise<SchemaPlan> {
  const { plan } = planSchema({ ...input, catalog });
  const ops: PlanOp[] = [];
  for (const view of undeclaredViews(input, catalog)) ops.push(dropViewOp(input, view));
  for (const table of undeclared(input, catalog)) {
    const { rows } = await sql.query({ text: `select count(*) from ${quoteTable(table)}` });
    ops.push(dropOp(input, table, Number(rows[0]?.[0])));
  }
  return withOps(plan, ops);
}

/**
 * Drops the tables that the file does not declare, all or none, with their rows and queued work.
 * @throws catalog_moved, schema_lock_timeout
 */
export async function pruneTables(
  deps: { readonly sql: SqlPool; readonly clock: Clock },
  input: PruneInput & { readonly catalog_version: number },
): Promise<SchemaPlan> {
  const giveUpAt = deps.clock.now() + GIVE_UP_MS;
  for (;;) {
    try {
      return await deps.sql.transaction((connection) => pruneOnce(connection, input));
    } catch (error) {
      const isInUse = error instanceof SqlError && (error.sqlstate === "55P03" || error.sqlstate === "40P01");
      if (!isInUse) throw error;
      if (deps.clock.now() >= giveUpAt) {
        throw appError("schema_lock_timeout", {
          detail: `The tables of ${input.target} were in use by other transactions for ${GIVE_UP_MS / 1000} seconds. Nothing was dropped.`,
          hint: "Stop the services that use them (cli service stop), then prune again.",
          cause: error,
        });
      }
    }
    await sleep(RETRY_DELAY_MS);
  }
}

async function pruneOnce(
  sql: SqlConnection,
  input: PruneInput & { readonly catalog_version: number },
): Promise<SchemaPlan> {
  await sql.query({ text: `set local lock_timeout = ${LOCK_TIMEOUT_MS}` });
  const version = await lockCatalog(sql);
  if (version !== input.catalog_version) {
    const changes = await describeChangesSince(sql, input.catalog_version);
    throw appError("catalog_moved", {
      detail: `The tables of ${input.target} were changed by someone else since the plan was shown. ${changes} Nothing was dropped.`,
      hint: `See the new plan: cli schema prune ${input.manifest.app_file} ${input.target} -n`,
      meta: { planned_version: input.catalog_version, version },
    });
  }
  const catalog = await loadCatalog(sql);
  const plan = await planPrune(sql, input, catalog);
  const tables = undeclared(input, catalog).filter((table) => otherProject(table, input.isOtherProject) === undefined);
  const views = undeclaredViews(input, catalog).filter(
    (view) => otherProject(view, input.isOtherProject) === undefined,
  );
  if (tables.length + views.length === 0) return { ...plan, status: "applied" };
  const changed = new Set<number>();
  for (const view of views) {
    const table = catalog.tables.find(({ id }) => id === view.table_id);
    // With its table, all its columns go.
    if (table !== undefined && !tables.includes(table)) await dropViewColumns(sql, table, view);
    if (table !== undefined) changed.add(table.id);
    await deleteView(sql, view.id);
  }
  for (const table of tables) {
    const base = catalog.tables.find(({ folder, name }) => folder === table.folder && name === table.rows_of?.table);
    if (table.rows_of != null && base !== undefined && !tables.includes(base)) {
      await sql.query({ text: `lock table ${quoteTable(base)} in access exclusive mode` });
      await dropRowTriggers(sql, table.id);
      const own = [table.rows_of.column, conditionColumn(table.name)];
      for (const column of base.columns.filter(({ name }) => own.includes(name))) {
        for (const text of dropColumn(base, column.name)) await sql.query({ text });
        await deleteColumn(sql, column.id);
      }
      changed.add(base.id);
    } else if (table.rows_of != null) await dropRowTriggers(sql, table.id);
    await sql.query({ text: `drop table ${quoteTable(table)}` });
    await deleteTable(sql, table.id);
  }
  const after = await bumpCatalog(sql, [...changed]);
  await rememberChanges(sql, after, { ...plan, tables: [] });
  const done = planSchema({ ...input, catalog: await loadCatalog(sql) }).plan;
  const ops = plan.ops.map((op) => ({ ...op, status: op.destructive ? ("applied" as const) : ("refused" as const) }));
  return { ...withOps(done, ops), catalog_version: after, status: "applied" };
}

/** Views that the file does not declare, those over other views first. */
function undeclaredViews({ manifest, target }: PruneInput, catalog: Catalog): readonly CatalogView[] {
  const extras = new Set(planSchema({ manifest, target, catalog }).plan.extras);
  const folder = folderSchema(target);
  return catalog.views.filter((view) => view.folder === folder && extras.has(`${target}/${view.name}`)).reverse();
}

/** Drops the hidden columns of a view with their indexes, values and errors. */
async function dropViewColumns(sql: SqlConnection, table: CatalogTable, view: CatalogView): Promise<void> {
  const own = new Set(ownColumns(view));
  await sql.query({ text: `lock table ${quoteTable(table)} in access exclusive mode` });
  const indexes = table.indexes.filter((index) => index.columns.some((name) => own.has(name)));
  for (const index of indexes) {
    await sql.query({ text: dropIndex(table.folder, index.sql_name, { concurrently: false }) });
    await deleteIndex(sql, index.id);
    if (index.embedding?.values != null) own.add(index.embedding.values);
  }
  for (const column of table.columns.filter(({ name }) => own.has(name))) {
    for (const text of dropColumn(table, column.name)) await sql.query({ text });
    await deleteColumn(sql, column.id);
  }
}

function dropViewOp({ target, isOtherProject }: PruneInput, view: CatalogView): PlanOp {
  const project = otherProject(view, isOtherProject);
  const isOwn = project === undefined;
  const columns = view.definition.columns.flatMap(({ name, column }) =>
    column === viewColumnName(view.name, name) ? [name] : [],
  );
  return {
    name: `${target}/${view.name}`,
    op: "drop",
    severity: isOwn ? "destructive" : "blocked",
    description: isOwn
      ? `view '${view.name}' will be dropped with the values of its columns; the rows of its table stay`
      : `view '${view.name}' belongs to the project ${project} and stays`,
    requires_restart: false,
    status: null,
    target: "table",
    details: { columns, kind: "view", project: view.project },
    destructive: isOwn,
  };
}

function undeclared({ manifest, target }: PruneInput, catalog: Catalog): readonly CatalogTable[] {
  const extras = new Set(planSchema({ manifest, target, catalog }).plan.extras);
  const folder = folderSchema(target);
  return catalog.tables.filter((table) => table.folder === folder && extras.has(`${target}/${table.name}`));
}

function dropOp({ target, isOtherProject }: PruneInput, table: CatalogTable, rows: number): PlanOp {
  const count = `${rows.toLocaleString("en")} ${rows === 1 ? "row" : "rows"}`;
  const project = otherProject(table, isOtherProject);
  const hasNoProject = project === undefined;
  const kind = table.rows_of == null ? "table" : "view";
  return {
    name: `${target}/${table.name}`,
    op: "drop",
    severity: hasNoProject ? "destructive" : "blocked",
    description: hasNoProject
      ? `${kind} '${table.name}' will be dropped with ${count}`
      : `${kind} '${table.name}' with ${count} belongs to the project ${project} and stays`,
    requires_restart: false,
    status: null,
    target: "table",
    details: { rows, kind, columns: table.columns.map((column) => column.name), project: table.project ?? null },
    destructive: hasNoProject,
  };
}

function withOps(plan: SchemaPlan, ops: readonly PlanOp[]): SchemaPlan {
  return {
    ...plan,
    ops: [...ops],
    summary: { ...plan.summary, destructive: ops.filter((op) => op.destructive).length },
  };
}
