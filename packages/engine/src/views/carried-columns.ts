import type { Expr } from "@appdb/contract/expressions";
import type { ManifestColumn, ManifestTable } from "@appdb/contract/manifest";
import { renameInExpr } from "../catalog/rename-catalog.ts";
import { viewColumnName } from "../catalog/sql-names.ts";
import { referencedColumns } from "../expressions/needs-python.ts";
import { INT_TYPE } from "../kinds/kinds.ts";

/** A column that a model shows: its declaration, and how many iterator views are between the model and it. */
interface Shown {
  readonly column: Pick<ManifestColumn, "name" | "type" | "nullable" | "renamed_from">;
  readonly up: number;
}

/**
 * Views over an iterator view can read columns of that view's base. Its rows then have a hidden copy of each, such as
 * `docs.title` in the table `chunks`: it is made with the rows, and so follows every write to the base. Pure.
 * `declared`: the views, each after the one that it is over. The result has the same order.
 */
export function carryColumns(
  tables: readonly ManifestTable[],
  declared: readonly ManifestTable[],
): readonly ManifestTable[] {
  const byName = new Map(tables.map((table) => [table.name, table]));
  const shownBy = shownColumns(tables);
  // The last ones first: a view that copies a column for another one reads it, too.
  for (const { name } of declared.toReversed()) {
    const view = byName.get(name);
    const iterator = view === undefined ? undefined : iteratorViewBelow(view, byName);
    if (view === undefined || iterator === undefined) continue;
    const copies = new Map<string, ManifestColumn>();
    const carry = (name: string, { column }: Shown): string => {
      const copy = copyOf(name, column, iterator, byName);
      copies.set(copy.name, copy);
      return copy.name;
    };
    byName.set(view.name, withCarried(view, shownBy(view.view?.base), carry));
    const missing = [...copies.values()].filter((copy) => iterator.columns.every((one) => one.name !== copy.name));
    byName.set(iterator.name, { ...iterator, columns: inOrder([...iterator.columns, ...missing]) });
  }
  return declared.map((table) => byName.get(table.name) ?? table);
}

/** Copies come last, by name: the order in which views are declared does not change what makes the rows. */
function inOrder(columns: readonly ManifestColumn[]): ManifestColumn[] {
  const isCopy = (column: ManifestColumn): boolean => column.is_hidden === true && column.name.includes(".");
  const byName = (a: ManifestColumn, b: ManifestColumn): number => (a.name < b.name ? -1 : 1);
  return [...columns.filter((column) => !isCopy(column)), ...columns.filter(isCopy).sort(byName)];
}

/**
 * The copies that the rows of an iterator view can have, by their names in an earlier version of the file. Empty for any
 * other model.
 */
export function possibleCopies(
  table: ManifestTable,
  { shownBy, tables }: { readonly shownBy: ShownColumns; readonly tables: Tables },
): ReadonlyMap<string, ManifestColumn> {
  if (table.view?.iterator === undefined) return new Map();
  return new Map(
    [...shownBy(table.view.base)].map(([name, { column }]) => {
      const copy = copyOf(name, column, table, tables);
      return [copy.renamed_from ?? copy.name, copy];
    }),
  );
}

type Tables = ReadonlyMap<string, ManifestTable>;

/** The nearest iterator view that a view is over. */
function iteratorViewBelow(view: ManifestTable, tables: Tables): ManifestTable | undefined {
  const base = tables.get(view.view?.base ?? "");
  if (base === undefined || base.view === undefined || base === view) return undefined;
  return base.view.iterator === undefined ? iteratorViewBelow(base, tables) : base;
}

export type ShownColumns = (name: string | undefined) => ReadonlyMap<string, Shown>;

/** The columns of models by name. Of two columns with one name, the nearer one hides the other. */
export function shownColumns(tables: readonly ManifestTable[]): ShownColumns {
  const byName = new Map(tables.map((table) => [table.name, table]));
  const known = new Map<string, ReadonlyMap<string, Shown>>();
  const shownBy: ShownColumns = (name = "") => {
    let found = known.get(name);
    if (found !== undefined) return found;
    const table = byName.get(name);
    found = table === undefined ? new Map() : shownOf(table, shownBy(table.view?.base));
    known.set(name, found);
    return found;
  };
  return shownBy;
}

function shownOf(table: ManifestTable, base: ReadonlyMap<string, Shown>): ReadonlyMap<string, Shown> {
  const { view } = table;
  const up = view?.iterator === undefined ? 0 : 1;
  const seen = view?.columns == null ? undefined : new Set(view.columns);
  const declared = [...table.columns, ...(table.unstored ?? [])].filter((column) => column.is_hidden !== true);
  const own = [...madeBy(table), ...declared];
  if (view !== undefined && seen === undefined && up === 0 && own.length === 0) return base;
  const shown = new Map<string, Shown>();
  for (const [name, one] of base) if (seen?.has(name) !== false) shown.set(name, { ...one, up: one.up + up });
  for (const column of own) shown.set(column.name, { column, up: 0 });
  return shown;
}

/** The columns that an iterator gives. */
function madeBy({ view }: ManifestTable): readonly Shown["column"][] {
  if (view?.iterator === undefined) return [];
  const outputs = view.iterator.outputs.map((output) => ({ ...output, renamed_from: null }));
  return [{ name: "pos", type: INT_TYPE, nullable: false, renamed_from: null }, ...outputs];
}

/** A view whose expressions read copies of the columns that its base's rows do not have. */
function withCarried(
  view: ManifestTable,
  inherited: ReadonlyMap<string, Shown>,
  carry: (name: string, shown: Shown) => string,
): ManifestTable {
  const names = new Map<string, string>();
  const read = (expr: Expr, own: ReadonlySet<string> = new Set()): Expr => {
    for (const name of referencedColumns(expr)) {
      const shown = inherited.get(name);
      if (!own.has(name) && shown !== undefined && shown.up > 0) names.set(name, carry(name, shown));
    }
    return renameInExpr(expr, new Map([...names].filter(([name]) => !own.has(name))));
  };
  const selected = new Set(view.view?.selected);
  const own = new Set(madeBy(view).map(({ name }) => name));
  const place = (column: ManifestColumn): ManifestColumn => {
    const { computed, name } = column;
    const expr = computed === null ? null : read(computed.expr, selected.has(name) ? new Set() : own);
    if (view.view?.iterator === undefined) own.add(name);
    return { ...column, computed: computed === null || expr === null ? null : { ...computed, expr } };
  };
  const over = view.view;
  if (over?.iterator !== undefined) for (const { name } of view.columns) own.add(name);
  const columns = view.columns.map(place);
  const unstored = view.unstored?.map(place);
  if (over === undefined) return view;
  const { filter, iterator } = over;
  return {
    ...view,
    columns,
    ...(unstored === undefined ? {} : { unstored }),
    view: {
      ...over,
      filter: filter === null ? null : { ...filter, expr: read(filter.expr) },
      ...(iterator === undefined
        ? {}
        : {
            iterator: {
              ...iterator,
              args: iterator.args.map((arg) => read(arg)),
              kwargs: Object.fromEntries(Object.entries(iterator.kwargs).map(([key, arg]) => [key, read(arg)])),
            },
          }),
    },
  };
}

/** The hidden column of an iterator view that has the value of its base. */
function copyOf(
  name: string,
  { type, nullable, renamed_from: former }: Shown["column"],
  { view, source }: ManifestTable,
  tables: Tables,
): ManifestColumn {
  const base = view?.base ?? "";
  const baseBefore = tables.get(base)?.renamed_from ?? base;
  const before = viewColumnName(baseBefore, former ?? name);
  const column = viewColumnName(base, name);
  return {
    name: column,
    type,
    nullable: true,
    primary_key: false,
    computed: { text: name, expr: { node: "column", name, type, nullable } },
    comment: null,
    custom_metadata: null,
    renamed_from: before === column ? null : before,
    is_hidden: true,
    source,
  };
}
