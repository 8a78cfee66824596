import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import type { PlanOp, SchemaPlan } from "@appdb/contract/plan";
import type { Catalog, CatalogTable, CatalogView } from "../catalog/catalog.ts";
import { bumpCatalog, lockCatalog } from "../catalog/catalog-store.ts";
import { loadCatalog } from "../catalog/load-catalog.ts";
import type { SqlConnection } from "../ports.ts";
import { quoteTable } from "../sql/quote.ts";
import { folderSchema } from "../target.ts";
import { type ApplyDeps, changeWhenFree } from "./apply-schema.ts";
import { describeChangesSince, rememberChanges } from "./changes.ts";
import { dropTableOp, dropTables, dropViewOp } from "./drop-tables.ts";
import { planSchema, type SchemaPlanInput } from "./plan-schema.ts";
import { otherProject } from "./plan-views.ts";

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
    ops.push(dropTableOp(input, table, Number(rows[0]?.[0])));
  }
  return withOps(plan, ops);
}

/**
 * Drops the tables that the file does not declare, all or none, with their rows and queued work.
 * @throws catalog_moved, schema_lock_timeout
 */
export async function pruneTables(
  deps: ApplyDeps,
  input: PruneInput & { readonly catalog_version: number },
): Promise<SchemaPlan> {
  const nextStep = "Stop the services that use them (cli service stop), then prune again.";
  return await changeWhenFree(deps, { target: input.target, next_step: nextStep }, (connection) =>
    pruneOnce(connection, input),
  );
}

async function pruneOnce(
  sql: SqlConnection,
  input: PruneInput & { readonly catalog_version: number },
): Promise<SchemaPlan> {
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
  const changed = await dropTables(sql, catalog, { tables, views });
  const after = await bumpCatalog(sql, changed);
  const dropped = plan.ops.filter(({ destructive }) => destructive);
  await rememberChanges(sql, after, { ...plan, ops: dropped, tables: [] }, input.manifest.app_file);
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

function undeclared({ manifest, target }: PruneInput, catalog: Catalog): readonly CatalogTable[] {
  const extras = new Set(planSchema({ manifest, target, catalog }).plan.extras);
  const folder = folderSchema(target);
  return catalog.tables.filter((table) => table.folder === folder && extras.has(`${target}/${table.name}`));
}

function withOps(plan: SchemaPlan, ops: readonly PlanOp[]): SchemaPlan {
  return {
    ...plan,
    ops: [...ops],
    summary: { ...plan.summary, destructive: ops.filter((op) => op.destructive).length },
  };
}
