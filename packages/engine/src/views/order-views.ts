import { appError } from "@appdb/contract/errors";
import type { ManifestTable } from "@appdb/contract/manifest";

/** Maximum views below a view. */
export const MAX_VIEW_DEPTH = 32;
/**
 * Maximum of views × columns: the sum over all tables of their views at any depth times the columns of the table and of
 * these views. A view can show each of them.
 */
export const MAX_VIEW_COLUMNS = 500_000;

/**
 * The views of a file, each after the view that it is over.
 * @throws app_invalid for a view over itself, over too many others, or for too many views of many columns
 */
export function orderViews(tables: readonly ManifestTable[]): readonly ManifestTable[] {
  refuseManyColumns(tables);
  const byName = viewsByName(tables);
  const depths = new Map<ManifestTable, number>();
  for (const table of viewsOf(tables)) {
    // The views below it that have no depth yet, the nearest first.
    const path = new Set<ManifestTable>();
    for (let at: ManifestTable | undefined = table; at !== undefined && !depths.has(at); at = baseOf(at, byName)) {
      if (path.has(at)) throw refuse(at, "is over itself");
      path.add(at);
    }
    for (const view of [...path].toReversed()) {
      const base = baseOf(view, byName);
      const depth = base === undefined ? 0 : (depths.get(base) ?? 0) + 1;
      if (depth >= MAX_VIEW_DEPTH) throw tooDeep(view);
      depths.set(view, depth);
    }
  }
  return [...depths.keys()];
}

/** @throws app_invalid when views and columns are too many together */
export function refuseManyColumns(tables: readonly ManifestTable[]): void {
  const byName = viewsByName(tables);
  const columns = new Map(tables.map((table) => [table.name, table.view === undefined ? columnsOf(table) : 0]));
  const counted = new Map<string, Counted>();
  const roots = new Map<ManifestTable, string>();
  let total = 0;
  for (const table of viewsOf(tables)) {
    const path = new Set<ManifestTable>();
    let root = "";
    let at: ManifestTable | undefined = table;
    while (at !== undefined && !path.has(at)) {
      path.add(at);
      root = roots.get(at) ?? at.view?.base ?? "";
      at = roots.has(at) ? undefined : baseOf(at, byName);
    }
    for (const view of path) roots.set(view, root);
    const before = counted.get(root) ?? { views: 0, columns: columns.get(root) ?? 0 };
    const after = { views: before.views + 1, columns: before.columns + columnsOf(table) };
    counted.set(root, after);
    total += after.views * after.columns - before.views * before.columns;
    if (total > MAX_VIEW_COLUMNS) throw tooManyColumns(table, root, { ...after, total });
  }
}

interface Counted {
  readonly views: number;
  readonly columns: number;
}

function viewsOf(tables: readonly ManifestTable[]): readonly ManifestTable[] {
  return tables.filter(({ view }) => view !== undefined);
}

function viewsByName(tables: readonly ManifestTable[]): ReadonlyMap<string, ManifestTable> {
  return new Map(viewsOf(tables).map((table) => [table.name, table]));
}

function baseOf({ view }: ManifestTable, views: ReadonlyMap<string, ManifestTable>): ManifestTable | undefined {
  return views.get(view?.base ?? "");
}

function columnsOf({ columns, unstored = [], view }: ManifestTable): number {
  return columns.length + unstored.length + (view?.iterator?.outputs.length ?? 0);
}

/** A view that cannot be, with its line. */
export function refuse(
  { name, source }: ManifestTable,
  what: string,
  hint = "Name another model of the same file in base=.",
): Error {
  return appError("app_invalid", {
    detail: `${source.file}:${source.line}: The view '${name}' ${what}.`,
    hint,
    meta: { table: name },
  });
}

function tooDeep(view: ManifestTable): Error {
  return refuse(view, `is below more than ${MAX_VIEW_DEPTH} other views`, "Name a model nearer to the table in base=.");
}

function tooManyColumns(
  { source }: ManifestTable,
  root: string,
  { columns, total, views }: Counted & { readonly total: number },
): Error {
  const counted = `${views} views are over '${root}', directly or through others; with it they have ${columns} columns`;
  return appError("app_invalid", {
    detail: `${source.file}:${source.line}: Views × columns are ${total} or more, and ${MAX_VIEW_COLUMNS} is the maximum: ${counted}.`,
    hint: `Declare fewer views of '${root}', or fewer columns in it and in them.`,
    meta: { table: root, views, columns, value: total, most: MAX_VIEW_COLUMNS },
  });
}
