import { appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import type { ManifestTable } from "@appdb/contract/manifest";
import { expressionsOf } from "../bound-queries/bind-query.ts";
import type { Catalog, CatalogTable } from "../catalog/catalog.ts";
import { viewOfRows } from "../catalog/sql-names.ts";
import { referencedColumns } from "../expressions/needs-python.ts";
import { visit } from "../expressions/tree.ts";
import { baseOf, isDefault, labelOfIndex, type Stored } from "./read-declaration.ts";

/** What depends on a table, a view or one of their columns, with names for people. */

/** The views over a table or view, direct and indirect, each after those that are over it. */
export function viewsOver(catalog: Catalog, of: Stored): readonly Stored[] {
  const found = new Set<Stored>();
  for (const one of directlyOver(catalog, of)) {
    for (const above of viewsOver(catalog, one)) found.add(above);
    found.add(one);
  }
  return [...found];
}

function directlyOver({ tables, views, ...catalog }: Catalog, of: Stored): readonly Stored[] {
  const { folder, name } = of.view ?? of.table;
  const filtered = views.flatMap((view): Stored[] => {
    const table = tables.find(({ id }) => id === view.table_id);
    return table === undefined || view.folder !== folder || view.definition.base !== name ? [] : [{ table, view }];
  });
  const whole = { ...catalog, tables, views };
  const made = tables.filter((table) => {
    const base = baseOf(whole, table);
    return base?.table.id === of.table.id && base.view?.id === of.view?.id;
  });
  return [...filtered, ...made.map((table): Stored => ({ table }))];
}

/** Views without those of iterators, and without what is over these. */
export function withoutMade(views: readonly ManifestTable[]): readonly ManifestTable[] {
  const made = new Set(views.flatMap(({ name, view }) => (view?.iterator === undefined ? [] : [name])));
  // Each is before what it is over.
  for (const { name, view } of views.toReversed()) if (made.has(view?.base ?? "")) made.add(name);
  return views.filter(({ name }) => !made.has(name));
}

/** Columns of the folder with a query that reads a table, or a column of it. */
export function queriesOver(
  catalog: Catalog,
  { folder, name }: CatalogTable,
  isColumn: ((column: string) => boolean) | null = null,
): readonly string[] {
  const reads = (expr: Expr): boolean => {
    let isRead = false;
    visit(expr, (node) => {
      isRead ||= node.node === "column" && isColumn?.(node.name) === true;
    });
    return isRead;
  };
  return catalog.tables.flatMap((table) =>
    table.columns.flatMap(({ computed, name: column }) => {
      const queries = (computed?.queries ?? []).filter(({ query }) =>
        [query.from, ...query.joins].some((ref) => ref.table === name),
      );
      const isDependent =
        table.folder === folder && queries.some(({ query }) => isColumn === null || expressionsOf(query).some(reads));
      if (!isDependent) return [];
      return [`column '${viewOfRows(column) ?? column}' of '${table.name}', by a query`];
    }),
  );
}

/** What reads a column: in the table or view itself, and in views over it. */
export function readersOf(column: string, own: ManifestTable, views: readonly ManifestTable[]): readonly string[] {
  const reads = (expr: Expr | undefined): boolean => expr !== undefined && referencedColumns(expr).includes(column);
  const inside = (one: ManifestTable, of: string): string[] => [
    ...one.columns.flatMap(({ computed, is_hidden: isHidden, name }) =>
      isHidden !== true && name !== column && reads(computed?.expr) ? [`column '${name}'${of}`] : [],
    ),
    ...one.indexes.flatMap((index) =>
      index.columns.includes(column) && !(one.has_default_idxs && isDefault(index, one.columns))
        ? [`index ${labelOfIndex(index)}${of}`]
        : [],
    ),
  ];
  return [
    ...inside(own, ""),
    ...views.flatMap((one) => {
      const { filter, iterator } = one.view ?? {};
      const calls = [...(iterator?.args ?? []), ...Object.values(iterator?.kwargs ?? {})];
      return [
        ...(reads(filter?.expr) ? [`the condition of the view '${one.name}'`] : []),
        ...(calls.some(reads) ? [`the view '${one.name}'`] : []),
        ...inside(one, ` of the view '${one.name}'`),
      ];
    }),
  ];
}

/** @throws has_dependents if something needs the object */
export function refuseDependents(what: string, dependents: readonly string[], hint: string): void {
  if (dependents.length === 0) return;
  throw appError("has_dependents", {
    detail: `${what} is needed by ${dependents.join(", ")}. Nothing was changed.`,
    hint,
    meta: { dependents },
  });
}

/** The name of a view or table. */
export function nameOf({ table, view }: Stored): string {
  return (view ?? table).name;
}
