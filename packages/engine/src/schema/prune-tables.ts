import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import type { Manifest } from "@appdb/contract/manifest";
import type { PlanOp, SchemaPlan } from "@appdb/contract/plan";
import type { Catalog, CatalogTable } from "../catalog/catalog.ts";
import { bumpCatalog, deleteTable, lockCatalog } from "../catalog/catalog-store.ts";
import { loadCatalog } from "../catalog/load-catalog.ts";
import type { Clock, SqlConnection, SqlPool } from "../ports.ts";
import { SqlError } from "../ports.ts";
import { quoteTable } from "../sql/quote.ts";
import { folderSchema } from "../target.ts";
import { describeChangesSince, rememberChanges } from "./changes.ts";
import { otherProject, planSchema, type SchemaPlanInput } from "./plan-schema.ts";

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
  if (tables.length === 0) return { ...plan, status: "applied" };
  for (const table of tables) {
    await sql.query({ text: `drop table ${quoteTable(table)}` });
    await deleteTable(sql, table.id);
  }
  const after = await bumpCatalog(sql, []);
  await rememberChanges(sql, after, { ...plan, tables: [] });
  const done = planSchema({ ...input, catalog: await loadCatalog(sql) }).plan;
  const ops = plan.ops.map((op) => ({ ...op, status: op.destructive ? ("applied" as const) : ("refused" as const) }));
  return { ...withOps(done, ops), catalog_version: after, status: "applied" };
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
  return {
    name: `${target}/${table.name}`,
    op: "drop",
    severity: hasNoProject ? "destructive" : "blocked",
    description: hasNoProject
      ? `table '${table.name}' will be dropped with ${count}`
      : `table '${table.name}' with ${count} belongs to the project ${project} and stays`,
    requires_restart: false,
    status: null,
    target: "table",
    details: { rows, columns: table.columns.map((column) => column.name), project: table.project ?? null },
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
