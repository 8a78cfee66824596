import type { Catalog, CatalogTable, ViewDefinition } from "../catalog/catalog.ts";
import { loadCatalog } from "../catalog/load-catalog.ts";
import type { SqlConnection } from "../ports.ts";
import { makerOf } from "./read-declaration.ts";

type Shown = ViewDefinition["columns"][number];

/**
 * Gives iterator views, and views over them, the columns that a change of a table below them has left: renamed columns
 * under their new names, no dropped ones, and new ones where the view shows all columns of that table. The change
 * declares only the table and its filtered views.
 */
export async function followColumns(sql: SqlConnection, before: Catalog): Promise<void> {
  const after = await loadCatalog(sql);
  const shownNow = (table: CatalogTable, shown: readonly Shown[]): readonly Shown[] | undefined => {
    const now = followed(before, after, table, shown);
    return JSON.stringify(now) === JSON.stringify(shown) ? undefined : now;
  };
  for (const { id, rows_of: was } of before.tables) {
    const table = after.tables.find((one) => one.id === id);
    const rowsOf = table?.rows_of;
    if (table === undefined || was?.columns === undefined || rowsOf == null) continue;
    // The names of the tables and views below may have changed.
    const isFollowing = textOf(rowsOf.columns ?? []) === textOf(was.columns);
    const columns = isFollowing ? shownNow(table, was.columns) : undefined;
    if (columns === undefined) continue;
    const text = "update appdb.tables set rows_of = $2 where id = $1";
    await sql.query({ text, values: [id, JSON.stringify({ ...rowsOf, columns })] });
  }
  for (const { definition, id } of before.views) {
    const view = after.views.find((one) => one.id === id);
    const table = after.tables.find((one) => one.id === view?.table_id);
    if (view === undefined || table === undefined || !isSame(view.definition, definition)) continue;
    const columns = shownNow(table, definition.columns);
    if (columns === undefined) continue;
    const text = "update appdb.views set definition = $2 where id = $1";
    await sql.query({ text, values: [id, JSON.stringify({ ...definition, columns })] });
  }
}

/** Names that PostgreSQL has changed in rows_of leave the members of its objects in another order. */
export function textOf(shown: readonly Shown[]): string {
  return JSON.stringify(shown.map(({ column, name, up }) => [name, column, up]));
}

function isSame(one: ViewDefinition, other: ViewDefinition): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The columns that rows of a table show of the tables above it, `up` levels further up. */
function followed(before: Catalog, after: Catalog, of: CatalogTable, shown: readonly Shown[]): readonly Shown[] {
  let now: readonly Shown[] = shown;
  const maker = (table: CatalogTable | undefined) => (table === undefined ? undefined : makerOf(after, table));
  for (let up = 1, table = maker(of); table !== undefined; up++, table = maker(table)) {
    const was = before.tables.find(({ id }) => id === table?.id);
    if (was !== undefined) now = followedOf(was, table, up, now);
  }
  return now;
}

function followedOf(was: CatalogTable, is: CatalogTable, up: number, shown: readonly Shown[]): readonly Shown[] {
  const listed = new Set(shown.flatMap((one) => (one.up === up ? [one.column] : [])));
  const isAll = visible(was).every(({ name }) => listed.has(name));
  const kept = shown.flatMap((one): Shown[] => {
    const column = one.up === up ? was.columns.find(({ name }) => name === one.column) : undefined;
    if (column === undefined) return [one];
    const now = is.columns.find(({ id }) => id === column.id);
    if (now === undefined) return [];
    return [{ ...one, column: now.name, name: one.name === column.name ? now.name : one.name }];
  });
  const names = new Set(kept.map(({ name }) => name));
  const known = new Set(was.columns.map(({ id }) => id));
  const added = visible(is).filter(({ id, name }) => isAll && !known.has(id) && !names.has(name));
  return [...kept, ...added.map(({ name }) => ({ name, column: name, up }))];
}

/** Columns of views have a dot in their names. */
function visible({ columns }: CatalogTable): CatalogTable["columns"] {
  return columns.filter(({ is_hidden: isHidden, name }) => isHidden !== true && !name.includes("."));
}
