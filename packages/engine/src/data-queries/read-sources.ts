import type { Catalog, CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { readableMember } from "../catalog/view-members.ts";
import type { LoweredView } from "../views/lower-queries.ts";

/** A column as readers name it. */
export interface ReadColumn {
  /** In the table that stores it. */
  readonly column: CatalogColumn;
}

/** A table or view that queries read, by its path within the database. */
export interface ReadSource {
  readonly path: string;
  /** The table with its rows. */
  readonly table: CatalogTable;
  readonly columns: ReadonlyMap<string, ReadColumn>;
  /** For a view: how its rows and columns lie in tables, whose names are paths. */
  readonly view: LoweredView | null;
}

/** All tables and views of a catalog by their paths. */
export function readSources(catalog: Catalog): ReadonlyMap<string, ReadSource> {
  const sources = new Map<string, ReadSource>();
  const tables = new Map(catalog.tables.map((table) => [pathOf(table), table]));
  const byId = new Map(catalog.tables.map((table) => [table.id, table]));
  const bases = (table: CatalogTable): LoweredView["bases"] => {
    const base = baseOf(table);
    return base === undefined ? [] : [{ table: pathOf(base), identity: base.identity }, ...bases(base)];
  };
  /** The table with the rows that those of an iterator view are made of. */
  const baseOf = (table: CatalogTable): CatalogTable | undefined => {
    if (table.rows_of == null) return undefined;
    const name = pathOf({ folder: table.folder, name: table.rows_of.table });
    const over = catalog.views.find((view) => pathOf(view) === name);
    return over === undefined ? tables.get(name) : byId.get(over.table_id);
  };
  const upper = (table: CatalogTable, up: number): CatalogTable | undefined => {
    const base = up === 0 ? table : baseOf(table);
    return base === undefined || up === 0 ? base : upper(base, up - 1);
  };
  const add = (
    path: string,
    table: CatalogTable,
    shown: LoweredView["definition"]["columns"],
    view: Omit<LoweredView["definition"], "columns"> | null,
  ): void => {
    const found = shown.flatMap((one) => {
      const column = upper(table, one.up ?? 0)?.columns.find(
        ({ name, state }) => name === one.column && state === "ready",
      );
      return column === undefined ? [] : [[one.name, { column }] as const];
    });
    const lowered =
      view === null ? null : { table: pathOf(table), bases: bases(table), definition: { ...view, columns: shown } };
    sources.set(path, { path, table, columns: new Map(found), view: lowered });
  };
  for (const view of catalog.views) {
    const table = byId.get(view.table_id);
    if (table === undefined) continue;
    add(pathOf(view), table, view.definition.columns, { ...view.definition, member: readableMember(view, table) });
  }
  const shownOf = (table: CatalogTable): LoweredView["definition"]["columns"] => {
    const own = table.columns.flatMap(({ name, is_hidden: isHidden }) =>
      isHidden === true ? [] : [{ name, column: name }],
    );
    if (table.rows_of == null) return own;
    const names = new Set(own.map(({ name }) => name));
    return [...own, ...(table.rows_of.columns ?? []).filter(({ name }) => !names.has(name))];
  };
  for (const [path, table] of tables) {
    const view = table.rows_of == null ? null : { member: null, indexes: {} };
    add(path, table, shownOf(table), view);
  }
  return sources;
}

function pathOf({ folder, name }: Pick<CatalogTable, "folder" | "name">): string {
  return folder === "public" ? name : `${folder}/${name}`;
}
