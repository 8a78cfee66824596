import type { Expr } from "@appdb/contract/expressions";
import {
  isComputeRoute,
  type Manifest,
  type ManifestColumn,
  type ManifestIndex,
  type ManifestTable,
} from "@appdb/contract/manifest";
import { shown } from "@appdb/contract/names";
import type { ManifestIterator } from "@appdb/contract/views";
import type { ViewDefinition } from "../catalog/catalog.ts";
import { guarded } from "../catalog/guards.ts";
import { identityOf, isIndexable } from "../catalog/operations.ts";
import { renameInExpr } from "../catalog/rename-catalog.ts";
import { conditionColumn, viewColumnName } from "../catalog/sql-names.ts";
import { isTotalCondition } from "../expressions/total-sql.ts";
import { BOOL_TYPE } from "../kinds/kinds.ts";
import { carryColumns, type ShownColumns, shownColumns } from "./carried-columns.ts";
import { type LoweredIterator, lowerIterator, rowsColumn } from "./lower-iterators.ts";
import { both, lowerQuery } from "./lower-queries.ts";
import { lowerRoute, withMember } from "./lower-routes.ts";
import { orderViews, refuse } from "./order-views.ts";

/**
 * A view of an application. It has no rows of its own: its rows are those rows of its table for which `member` is
 * true. Its computed columns are hidden columns of the table, which have values for these rows only.
 */
export interface DeclaredView {
  readonly name: string;
  readonly model: string;
  readonly comment: string | null;
  readonly custom_metadata: unknown;
  readonly renamed_from: string | null;
  readonly source: ManifestTable["source"];
  /** The table with its rows. */
  readonly table: string;
  /** Over or of an iterator: the tables that its rows are made of, the nearest first. */
  readonly bases: readonly { readonly table: string; readonly identity: string }[];
  readonly definition: ViewDefinition;
}

/** A manifest without views among its tables: tables have the columns of their views, and queries read tables. */
export interface LoweredManifest extends Manifest {
  readonly views: readonly DeclaredView[];
}

const lowered = new WeakMap<Manifest, LoweredManifest>();

/**
 * Replaces the views of a manifest by hidden columns of their tables and by conditions of its queries. A manifest
 * without views stays as it is, and so does a lowered one. Pure; the result is kept for each manifest.
 * @throws app_invalid for a view over a missing table or over itself
 */
export function lowerViews(manifest: Manifest): LoweredManifest {
  const known = lowered.get(manifest);
  if (known !== undefined) return known;
  const result = "views" in manifest ? (manifest as LoweredManifest) : lower(manifest);
  lowered.set(manifest, result);
  lowered.set(result, result);
  return result;
}

function lower(manifest: Manifest): LoweredManifest {
  const declared = manifest.tables.filter((table) => table.view !== undefined);
  if (declared.length === 0) return { ...manifest, views: [] };
  const tables = new Map(manifest.tables.flatMap((table) => (table.view === undefined ? [[table.name, table]] : [])));
  const views = new Map<string, DeclaredView>();
  const makers: { readonly table: string; readonly column: () => ManifestColumn }[] = [];
  const ordered = orderViews(manifest.tables);
  const shown = shownColumns(manifest.tables);
  for (const table of ordered) checkView(table, shown);
  for (const table of carryColumns(manifest.tables, ordered)) {
    const base = views.get(table.view?.base ?? "");
    const root = tables.get(base?.table ?? table.view?.base ?? "");
    if (root === undefined) throw refuse(table, `is over '${table.view?.base}', which the file does not declare`);
    const iterator = table.view?.iterator;
    if (iterator === undefined) {
      const { view, extended } = lowerView(table, root, base);
      tables.set(root.name, extended);
      views.set(view.name, view);
      continue;
    }
    const { view, lowered: made, member, condition } = lowerIteratorView(table, iterator, root, base);
    if (condition !== null) tables.set(root.name, { ...root, columns: [...root.columns, condition] });
    views.set(view.name, view);
    tables.set(view.name, made.child);
    const names = namesOfBase(root, base);
    makers.push({
      table: root.name,
      column: () => {
        const child = tables.get(view.name) ?? made.child;
        return rowsColumn(table, iterator, { ...made, child }, { names, guard: (expr) => guarded(member, expr) });
      },
    });
  }
  // A view's rows also have the columns of views over it, which are known by now.
  for (const { table, column } of makers.reverse()) {
    const base = tables.get(table);
    if (base !== undefined) tables.set(table, { ...base, columns: [...base.columns, column()] });
  }
  const computing = new Set(
    manifest.services.flatMap(({ routes }) => routes.filter(isComputeRoute).map((route) => route.table)),
  );
  for (const view of views.values()) {
    const table = tables.get(view.table);
    if (!computing.has(view.name) || table === undefined || view.bases.length > 0) continue;
    tables.set(view.table, withMember(table, view));
  }
  const services = manifest.services.map((service) => ({
    ...service,
    routes: service.routes.map((route) => lowerRoute(route, { tables, views })),
  }));
  return {
    ...manifest,
    tables: [...tables.values()],
    services,
    queries: manifest.queries.map((query) => lowerQuery(query, views)),
    views: [...views.values()].filter(({ name, table }) => name !== table),
  };
}

/** @throws app_invalid for a name in a view that nothing declares */
function checkView(table: ManifestTable, shownBy: ShownColumns): void {
  const { columns, selected } = table.view ?? {};
  const base = shownBy(table.view?.base);
  const missing = columns?.find((name) => !base.has(name));
  if (missing !== undefined && base.size > 0) {
    throw refuse(table, `shows '${shown(missing)}', which '${table.view?.base}' does not have`, CHECK_NAME);
  }
  const own = [...table.columns, ...(table.unstored ?? [])];
  const lacking = selected?.find((name) => own.every((column) => column.name !== name));
  if (lacking !== undefined) throw refuse(table, `selects '${shown(lacking)}', which it does not declare`, CHECK_NAME);
}

/** The names of a base's columns in its table. */
function namesOfBase(root: ManifestTable, base: DeclaredView | undefined): ReadonlyMap<string, string> {
  const columns = base?.definition.columns ?? root.columns.flatMap(shownColumn);
  return new Map(columns.flatMap(({ name, column, up }) => (up === undefined ? [[name, column]] : [])));
}

/** An iterator view is a table of its own. It shows its rows' columns, and the columns of its base. */
function lowerIteratorView(
  declared: ManifestTable,
  iterator: ManifestIterator,
  root: ManifestTable,
  base: DeclaredView | undefined,
): { view: DeclaredView; lowered: LoweredIterator; member: Expr | null; condition: ManifestColumn | null } {
  const { name, view: over } = declared;
  const names = namesOfBase(root, base);
  const { member, condition } = lowerCondition(declared, conditionColumn, names, base);
  const inherited = base?.definition.columns ?? root.columns.flatMap(shownColumn);
  const visible = inherited
    .filter((column) => over?.columns == null || over.columns.includes(column.name))
    .map((column) => ({ ...column, up: (column.up ?? 0) + 1 }));
  const lowered = lowerIterator(declared, iterator, { table: root, names, visible });
  return {
    view: {
      ...describedBy(declared),
      table: name,
      bases: [{ table: root.name, identity: identityOf(root) }, ...(base?.bases ?? [])],
      definition: {
        base: over?.base ?? "",
        filter: over?.filter?.text ?? null,
        member: null,
        columns: [...lowered.child.columns.flatMap(shownColumn), ...visible],
        indexes: {},
      },
    },
    lowered,
    member,
    condition,
  };
}

function lowerView(
  declared: ManifestTable,
  root: ManifestTable,
  base: DeclaredView | undefined,
): { view: DeclaredView; extended: ManifestTable } {
  const { name, view: over } = declared;
  const wasNamed = declared.renamed_from ?? name;
  const inherited = base?.definition.columns ?? root.columns.flatMap(shownColumn);
  const baseNames = namesOfBase(root, base);
  const visible = inherited.filter((column) => over?.columns == null || over.columns.includes(column.name));
  const { member, condition } = lowerCondition(declared, ofFilter, baseNames, base);
  const names = new Map(baseNames);
  const place = (column: ManifestColumn): ManifestColumn => {
    const former = column.renamed_from ?? column.name;
    const isRenamed = wasNamed !== name || former !== column.name;
    const { expr, text } = column.computed ?? { expr: null, text: "" };
    const own = viewColumnName(name, column.name);
    const computed = expr === null ? null : { text, expr: guarded(member, renameInExpr(expr, names)) };
    names.set(column.name, own);
    return {
      ...column,
      name: own,
      nullable: true,
      primary_key: false,
      computed,
      renamed_from: isRenamed ? viewColumnName(wasNamed, former) : null,
      is_hidden: true,
      // The vectors of an index belong to the index.
      ...(column.is_hidden === true ? {} : { view: name }),
    };
  };
  const own = declared.columns.map(place);
  const unstored = (declared.unstored ?? []).map(place);
  const indexes = [...declared.indexes, ...defaultIndexes(declared)].map((index) => lowerIndex(index, declared, names));
  return {
    view: {
      ...describedBy(declared),
      table: root.name,
      bases: base?.bases ?? [],
      definition: {
        base: over?.base ?? "",
        filter: over?.filter?.text ?? null,
        member,
        columns: [
          ...visible,
          ...[...declared.columns, ...(declared.unstored ?? [])].flatMap((column) =>
            column.is_hidden === true ? [] : [{ name: column.name, column: names.get(column.name) ?? "" }],
          ),
        ],
        indexes: {
          ...base?.definition.indexes,
          ...Object.fromEntries(
            declared.indexes.flatMap((index) =>
              index.name === null ? [] : [[index.name, indexNameIn(name, index.name)]],
            ),
          ),
        },
      },
    },
    extended: {
      ...root,
      columns: [...root.columns, ...(condition === null ? [] : [condition]), ...own],
      ...(unstored.length === 0 ? {} : { unstored: [...(root.unstored ?? []), ...unstored] }),
      indexes: [...root.indexes, ...indexes.filter((index) => !hasIndex(root, index))],
    },
  };
}

/** What a view and its model have in common. */
function describedBy({ name, model, comment, custom_metadata, renamed_from, source }: ManifestTable) {
  return { name, model, comment, custom_metadata, renamed_from, source };
}

function shownColumn({ name, is_hidden: isHidden }: ManifestColumn): ViewDefinition["columns"][number][] {
  return isHidden === true ? [] : [{ name, column: name }];
}

const ofFilter = (view: string): string => viewColumnName(view, null);

/**
 * The condition of a view's rows, over columns of its table. One that SQL cannot compute of any row is a hidden column
 * of the table, which `nameOf` names.
 */
function lowerCondition(
  declared: ManifestTable,
  nameOf: (view: string) => string,
  names: ReadonlyMap<string, string>,
  base: DeclaredView | undefined,
): { member: Expr | null; condition: ManifestColumn | null } {
  const { name, source, view, renamed_from: before } = declared;
  const above = base?.definition.member ?? null;
  const filter = view?.filter ?? null;
  if (filter === null) return { member: above, condition: null };
  const expr = renameInExpr(filter.expr, names);
  if (isTotalCondition(expr)) return { member: both(above, expr), condition: null };
  const column = nameOf(name);
  const condition: ManifestColumn = {
    name: column,
    type: BOOL_TYPE,
    nullable: true,
    primary_key: false,
    computed: { text: filter.text, expr: guarded(above, expr) },
    comment: null,
    custom_metadata: null,
    renamed_from: before === null || before === name ? null : nameOf(before),
    is_hidden: true,
    view: name,
    source,
  };
  return { member: { node: "column", name: column, type: BOOL_TYPE, nullable: true }, condition };
}

/** With `has_default_idxs`, each column of the view that can have an index. */
function defaultIndexes({ has_default_idxs: hasDefaults, columns, source }: ManifestTable): ManifestIndex[] {
  if (!hasDefaults) return [];
  return columns
    .filter((column) => column.is_hidden !== true && isIndexable(column))
    .map((column) => ({ kind: "btree", name: null, columns: [column.name], source }));
}

function lowerIndex(index: ManifestIndex, declared: ManifestTable, names: ReadonlyMap<string, string>): ManifestIndex {
  const nameOf = (name: string): string => names.get(name) ?? name;
  const [name, former] = [declared.name, declared.renamed_from].map((view) => {
    return view === null || index.name === null ? null : indexNameIn(view, index.name);
  });
  const common = { name: name ?? null, columns: index.columns.map(nameOf), renamed_from: former ?? undefined };
  if (index.kind === "btree") return { ...index, ...common };
  return { ...index, ...common, values: index.values === null ? null : nameOf(index.values) };
}

function indexNameIn(view: string, index: string): string {
  return `${view}.${index}`;
}

/** An index over a column of the base that the base has too. */
function hasIndex(root: ManifestTable, index: ManifestIndex): boolean {
  return (
    index.name === null &&
    index.kind === "btree" &&
    root.indexes.some(({ kind, name, columns }) => {
      return kind === "btree" && name === null && columns.join() === index.columns.join();
    })
  );
}

const CHECK_NAME = "Correct the name in the file.";
