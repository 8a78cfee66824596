import type { PlanOp } from "@appdb/contract/plan";
import type { Catalog, CatalogTable, CatalogView } from "../catalog/catalog.ts";
import { deleteColumn, deleteIndex, deleteTable } from "../catalog/catalog-store.ts";
import { dropColumn, dropIndex } from "../catalog/ddl.ts";
import { conditionColumn, ownColumns, viewColumnName } from "../catalog/sql-names.ts";
import type { SqlConnection } from "../ports.ts";
import { quoteTable } from "../sql/quote.ts";
import { dropRowTriggers } from "../views/row-triggers.ts";
import { deleteView } from "../views/view-store.ts";
import type { SchemaPlanInput } from "./plan-schema.ts";
import { otherProject } from "./plan-views.ts";

/** Tables and views of a folder to drop. Views are in an order in which each comes before what it is over. */
export interface Dropped {
  readonly tables: readonly CatalogTable[];
  readonly views: readonly CatalogView[];
}

type DropTarget = Pick<SchemaPlanInput, "target" | "isOtherProject">;

/** Drops tables with their rows and queued work, and views with the values of their columns. Returns the ids of the
 *  tables that stay and have other columns now. */
export async function dropTables(
  sql: SqlConnection,
  catalog: Catalog,
  { tables, views }: Dropped,
): Promise<readonly number[]> {
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
  return [...changed];
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

/** The line of a plan that drops a view. */
export function dropViewOp({ target, isOtherProject }: DropTarget, view: CatalogView): PlanOp {
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

/** The line of a plan that drops a table, with the number of its rows. */
export function dropTableOp({ target, isOtherProject }: DropTarget, table: CatalogTable, rows: number): PlanOp {
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
