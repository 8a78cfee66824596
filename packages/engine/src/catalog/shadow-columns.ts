import type { Expr } from "@appdb/contract/expressions";
import { storageType } from "../kinds/storage-type.ts";
import type { Catalog, CatalogColumn, CatalogTable, CatalogView } from "./catalog.ts";
import { isSameType } from "./compare.ts";
import { renameInExpr } from "./rename-catalog.ts";

/**
 * A shadow column has the next values of a view's column, or of one that gets another type, while a job computes them.
 * Everyone reads and writes the column itself until then. Afterwards the job puts all values in place in one transaction
 * (jobs/previous-values/place-shadows.ts), or drops the shadows and so leaves everything as it was. A column that goes
 * then has a shadow without an expression.
 */
export interface Shadow {
  readonly column: CatalogColumn;
  readonly shadow: CatalogColumn;
}

/** No declared column has this sign. The id stays when the column is renamed. */
const PREFIX = "#shadow ";

/** SQL pattern of their names. */
export const SHADOWS = `${PREFIX}%`;

export function shadowName(columnId: number): string {
  return `${PREFIX}${columnId}`;
}

/** The names of the shadows of some columns, by the columns' own. */
export function shadowNames(
  { columns }: Pick<CatalogTable, "columns">,
  shadowed: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  return new Map(columns.flatMap(({ id, name }) => (shadowed.has(name) ? [[name, shadowName(id)]] : [])));
}

export function isShadow({ name }: Pick<CatalogColumn, "name">): boolean {
  return name.startsWith(PREFIX);
}

/** The shadows of some columns of a table, before the catalog has them. */
export function newShadows(table: Pick<CatalogTable, "columns">, shadowed: ReadonlySet<string>): readonly Shadow[] {
  const names = shadowNames(table, shadowed);
  return table.columns
    .filter(({ name }) => shadowed.has(name))
    .map((column) => ({ column, shadow: shadowOf(column, (expr) => renameInExpr(expr, names)) }));
}

/** The shadow of a column; one without an expression for a column that goes. */
export function shadowOf(column: CatalogColumn, over: ((expr: Expr) => Expr) | null): CatalogColumn {
  const { computed } = column;
  return {
    ...column,
    // The catalog gives it another one.
    id: -column.id,
    name: shadowName(column.id),
    // Nothing writes a shadow without an expression.
    nullable: computed === null || over === null || column.nullable,
    computed: computed === null || over === null ? null : { ...computed, expr: over(computed.expr) },
    state: "filling",
    comment: null,
    renamed_from: null,
    is_hidden: true,
  };
}

/** Whether the shadow is stored as another type, and so takes the place of its column. */
export function isRetyped({ column, shadow }: Shadow): boolean {
  return shadow.computed !== null && storageType(column.type) !== storageType(shadow.type);
}

/** The columns of a table that have shadows. */
export function shadowsOf({ columns }: Pick<CatalogTable, "columns">): readonly Shadow[] {
  const byName = new Map(columns.map((column) => [column.name, column]));
  return columns.flatMap((column) => {
    const shadow = byName.get(shadowName(column.id));
    return shadow === undefined ? [] : [{ column, shadow }];
  });
}

/**
 * While a job gives a column another type: this column, those that read it and those that go afterwards. Writers of any
 * version compute them by the expressions that the catalog has, until the shadows are in place.
 */
export function shadowsOfRetyping(table: Pick<CatalogTable, "columns">): readonly Shadow[] {
  const shadows = shadowsOf(table);
  const isRemade = ({ column, shadow }: Shadow) => shadow.computed !== null && !isSameType(column.type, shadow.type);
  return shadows.some(isRemade) ? shadows : [];
}

/** The ids of tables with shadows, and of iterator views whose rows a shadow makes. */
export function busyTables(tables: readonly CatalogTable[]): ReadonlySet<number> {
  return new Set(
    tables.flatMap((table) => {
      const shadows = shadowsOf(table);
      const made = tables.filter(({ folder, rows_of: made }) => {
        return (
          folder === table.folder &&
          made?.table === table.name &&
          shadows.some(({ column }) => column.name === made.column)
        );
      });
      return shadows.length === 0 ? [] : [table.id, ...made.map(({ id }) => id)];
    }),
  );
}

/** The name for people of a column that may be a shadow. */
export function shadowedName(table: Pick<CatalogTable, "columns">, name: string): string {
  return shadowsOf(table).find(({ shadow }) => shadow.name === name)?.column.name ?? name;
}

/** An expression over shadows, as one over the columns themselves. */
export function overColumns(expr: Expr, shadows: readonly Shadow[]): Expr {
  return renameInExpr(expr, new Map(shadows.map(({ column, shadow }) => [shadow.name, column.name])));
}

/** The catalog as it will be when all shadows are in place. Plans compare files with it. */
export function settled(catalog: Catalog): Catalog {
  return { ...catalog, tables: catalog.tables.map(settledTable), views: catalog.views.map(settledView) };
}

export function settledTable(table: CatalogTable): CatalogTable {
  const shadows = shadowsOf(table);
  if (shadows.length === 0) return table;
  const next = new Map(shadows.map(({ column, shadow }) => [column.id, shadow]));
  const gone = new Set(shadows.flatMap(({ column, shadow }) => (shadow.computed === null ? [column.id] : [])));
  return {
    ...table,
    columns: table.columns
      .filter((column) => !isShadow(column) && !gone.has(column.id))
      .map((column) => {
        const { computed, type, nullable, code } = next.get(column.id) ?? column;
        return computed === null
          ? column
          : {
              ...column,
              type,
              nullable,
              code: code ?? null,
              computed: { ...computed, expr: overColumns(computed.expr, shadows) },
            };
      }),
  };
}

function settledView(view: CatalogView): CatalogView {
  const { next } = view.definition;
  return next === undefined ? view : { ...view, definition: next };
}
