import { appError } from "@appdb/contract/errors";
import type { PlanOp, TablePlan } from "@appdb/contract/plan";
import { renameFolder } from "../catalog/ddl.ts";
import { renameInFolders, storeFolder } from "../catalog/folders.ts";
import { loadCatalog } from "../catalog/load-catalog.ts";
import { listOpenJobs } from "../jobs/list-open-jobs.ts";
import type { SqlConnection } from "../ports.ts";
import { SqlError } from "../ports.ts";
import { quoteTable } from "../sql/quote.ts";
import { installRowTriggers } from "../views/row-triggers.ts";
import type { FolderMove } from "./change-step.ts";
import { nameOf, refuseDependents } from "./dependents.ts";
import { opOf, tablePlan } from "./describe-change.ts";
import { movedName } from "./plan-folder.ts";
import { makerOf, type Stored } from "./read-declaration.ts";

/** A folder that gets another path. Ids, rows and indexes stay. What has the names of PostgreSQL's schemas follows. */

/** Lines of a plan: the folder, and each table and view with its new path. */
export function describeFolderMove(
  database: string,
  { folder, moved, to }: FolderMove,
): { readonly ops: readonly PlanOp[]; readonly tables: readonly TablePlan[] } {
  const move = (name: string, target: "folder" | "table", from: string, isView: boolean): PlanOp => {
    const what = isView ? "view" : target;
    return opOf(name, "alter", target, {
      description: `the ${what} will be moved from '${from}'`,
      details: { moved_from: from, ...(isView ? { kind: "view" } : {}) },
    });
  };
  const tables = moved.map((one): TablePlan => {
    const from = pathOf(one);
    const isView = one.view !== undefined || one.table.rows_of != null;
    const path = `${database}/${movedName(from, { folder, to })}`;
    return tablePlan(one, path, move(nameOf(one), "table", from, isView));
  });
  return { ops: [move(`${database}/${to}`, "folder", folder, false)], tables };
}

/** A job has the paths of its tables until it ends. @throws has_dependents */
export async function refuseOpenJobs(
  sql: SqlConnection,
  database: string,
  { folder, moved }: FolderMove,
): Promise<void> {
  const jobs = await listOpenJobs(sql, idsOf(moved));
  const names = jobs.map(({ columns, id, table }) => `the job ${id} of '${table}' (${columns.join(", ")})`);
  refuseDependents(`The folder ${database}/${folder}`, names, `Wait until it has ended: cli jobs list ${database}`);
}

/** Moves a folder in the transaction of a change. Returns the ids of its tables. @throws folder_exists */
export async function moveFolder(
  sql: SqlConnection,
  database: string,
  { folder, inside, moved, to }: FolderMove,
): Promise<readonly number[]> {
  const ids = idsOf(moved);
  const tables = new Map(moved.map(({ table }) => [table.id, table]));
  if (tables.size > 0) {
    // Waits for readers and writers. What they start from now on finds the tables at their new paths.
    const names = [...tables.values()].map(quoteTable).join(", ");
    await sql.query({ text: `lock table ${names} in access exclusive mode` });
  }
  // The folders around the previous and the next path stay, as those of a table do.
  for (const around of [parentOf(folder), parentOf(to)]) if (around !== "") await storeFolder(sql, around);
  for (const name of inside) await renameSchema(sql, database, name, movedName(name, { folder, to }));
  await renameInFolders(sql, inside, { from: folder, to });
  const catalog = await loadCatalog(sql);
  for (const view of catalog.tables) {
    const base = tables.has(view.id) ? makerOf(catalog, view) : undefined;
    // A fill that failed dropped the column that makes the rows; the next update that declares the view makes it.
    if (!base?.columns.some(({ name }) => name === view.rows_of?.column)) continue;
    await installRowTriggers(sql, view, base);
  }
  return ids;
}

async function renameSchema(sql: SqlConnection, database: string, from: string, to: string): Promise<void> {
  try {
    await sql.query({ text: renameFolder(from, to) });
  } catch (error) {
    if (!(error instanceof SqlError) || error.sqlstate !== "42P06") throw error;
    throw appError("folder_exists", {
      detail: `The database has a schema "${to}" that this product did not create. Nothing was changed.`,
      hint: `Drop or rename it with psql: cli psql ${database}`,
      meta: { folder: to },
      cause: error,
    });
  }
}

function idsOf(moved: readonly Stored[]): readonly number[] {
  return [...new Set(moved.map(({ table }) => table.id))];
}

/** The path within the database. */
function pathOf(one: Stored): string {
  return `${(one.view ?? one.table).folder}/${nameOf(one)}`;
}

function parentOf(folder: string): string {
  return folder.slice(0, Math.max(folder.lastIndexOf("/"), 0));
}
