import { parseTablePath } from "@appdb/contract/names";
import type { SchemaPlan } from "@appdb/contract/plan";
import { changedTables, type TableChange } from "@appdb/contract/routes/table-changes";
import type { Catalog, CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { shadowName } from "../catalog/shadow-columns.ts";
import { ownColumns, viewColumnName } from "../catalog/sql-names.ts";
import type { SqlConnection } from "../ports.ts";
import { folderSchema } from "../target.ts";
import { viewsOver } from "./dependents.ts";
import { columnsOf } from "./plan-change.ts";
import { below, findStored, type Stored } from "./read-declaration.ts";

/** Jobs that earlier changes queued, and that concern a change which finds its tables as it declares them. */

interface Asked {
  readonly change: TableChange;
  /** Prefix of the paths of the database's tables. */
  readonly database: string;
  /** Whether the change is only planned: nothing waits for jobs then. */
  readonly dry_run: boolean;
}

/**
 * The ids of the tables whose jobs can undo what a change is planned against: those that it declares or edits, their
 * bases and their views. A change that only drops or moves does not depend on their columns.
 */
export function tablesPlannedAgainst(asked: Asked, catalog: Catalog): readonly number[] {
  const { change } = asked;
  if (change.change === "drop_table" || change.change === "move_table") return [];
  const ids = storedOf(asked, catalog).flatMap((stored) => {
    const bases: Stored[] = [];
    for (let one = below(catalog, stored); one !== undefined; one = below(catalog, one)) bases.push(one);
    return [stored, ...bases, ...viewsOver(catalog, stored)].map(({ table }) => table.id);
  });
  return [...new Set(ids)];
}

/**
 * The open jobs of earlier changes that compute what a change declares and does not change itself: the same change was
 * made before, and its values are not there yet. Call it in the transaction of the plan.
 */
export async function jobsOfSameChange(
  sql: SqlConnection,
  asked: Asked,
  catalog: Catalog,
  plan: SchemaPlan,
): Promise<readonly string[]> {
  return asked.dry_run ? [] : await openJobs(sql, asked, catalog, plan.tables);
}

/** The open jobs that compute the columns of a change which finds all of them. */
export async function openJobsOf(sql: SqlConnection, asked: Asked, catalog: Catalog): Promise<readonly string[]> {
  return await openJobs(sql, asked, catalog, []);
}

async function openJobs(
  sql: SqlConnection,
  asked: Asked,
  catalog: Catalog,
  planned: SchemaPlan["tables"],
): Promise<readonly string[]> {
  const columnIds: number[] = [];
  const indexIds: number[] = [];
  for (const stored of storedOf(asked, catalog)) {
    const names = namesIn(asked, stored, planned);
    columnIds.push(...columnsNamed(stored, names).flatMap((column) => withShadow(stored.table, column)));
    if (names !== null) continue;
    indexIds.push(...stored.table.indexes.flatMap(({ id, state }) => (state === "building" ? [id] : [])));
    const base = stored.view === undefined ? below(catalog, stored)?.table : undefined;
    const maker = base?.columns.find(({ name }) => name === stored.table.rows_of?.column);
    if (base !== undefined && maker !== undefined) columnIds.push(...withShadow(base, maker));
  }
  if (columnIds.length === 0 && indexIds.length === 0) return [];
  const { rows } = await sql.query({
    text: `select j.id from appdb.jobs j, appdb.state s
      where j.state in ('queued', 'running') and j.incarnation = s.incarnation
        and (j.index_id = any($2::bigint[]) or (j.column_ids && $1::bigint[]
          and (j.kind = 'fill' or (j.kind = 'recompute' and json_array_length(j.undo) > 0))))
      order by j.seq`,
    values: [columnIds, indexIds],
  });
  return rows.map(([id]) => id ?? "");
}

function storedOf({ change, database }: Pick<Asked, "change" | "database">, catalog: Catalog): readonly Stored[] {
  return changedTables(change).flatMap((text) => {
    const { table, target } = parseTablePath(`${database}/${text}`);
    return findStored(catalog, folderSchema(target.text), table) ?? [];
  });
}

/** The declared columns that a plan leaves as they are; null for all of the table with its indexes. */
function namesIn(
  { change, database }: Asked,
  { table, view }: Stored,
  planned: SchemaPlan["tables"],
): readonly string[] | null {
  const { folder, name } = view ?? table;
  const path = `${folder === "public" ? database : `${database}/${folder}`}/${name}`;
  const ops = planned.filter((one) => one.path === path).flatMap((one) => one.ops);
  const of = changedTables(change).findIndex((text) => `${database}/${text}` === path);
  if (change.change !== "add_columns" && ops.length === 0) return null;
  if (change.change !== "add_columns" && change.change !== "update_tables") return [];
  const changed = new Set(ops.map((op) => op.name));
  return (columnsOf(change)[of] ?? []).flatMap((column) => (changed.has(column.name) ? [] : [column.name]));
}

/** Columns of a table; for a view, the hidden ones of its table. */
function columnsNamed({ table, view }: Stored, names: readonly string[] | null): readonly CatalogColumn[] {
  if (names === null && view === undefined) return table.columns;
  const stored = new Set(
    view === undefined ? names : (names?.map((name) => viewColumnName(view.name, name)) ?? ownColumns(view)),
  );
  return table.columns.filter(({ name }) => stored.has(name));
}

function withShadow({ columns }: CatalogTable, { id }: CatalogColumn): readonly number[] {
  return [id, ...columns.flatMap((one) => (one.name === shadowName(id) ? [one.id] : []))];
}
