import { appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import type { ManifestColumn, ManifestIndex, ManifestTable } from "@appdb/contract/manifest";
import type { TablePath } from "@appdb/contract/names";
import type { ManifestIterator } from "@appdb/contract/views";
import type { Catalog, CatalogColumn, CatalogIndex, CatalogTable, CatalogView } from "../catalog/catalog.ts";
import { isSameExpr } from "../catalog/compare.ts";
import { guardOf } from "../catalog/guards.ts";
import { retiredIndexes } from "../catalog/hidden-columns.ts";
import { columnsIn, isIndexable } from "../catalog/operations.ts";
import { renameInExpr } from "../catalog/rename-catalog.ts";
import { isShadow } from "../catalog/shadow-columns.ts";
import { conditionColumn, viewColumnName } from "../catalog/sql-names.ts";
import { readableMember } from "../catalog/view-members.ts";
import { madeRowsIn, ofMadeRow } from "../expressions/made-rows.ts";
import { folderSchema } from "../target.ts";
import { BASE_ROW } from "../views/lower-iterators.ts";

/**
 * The declarations of tables and views, made of the catalog: what a file with them would declare. An update of that file
 * changes nothing. Columns that a file declares as unstored are not in the catalog.
 */

/** Messages about declarations name this place. */
const SOURCE = { file: "database", line: 1 };

/** A declared table or view by its stored one. */
export type Stored =
  | { readonly table: CatalogTable; readonly view?: undefined }
  | { readonly table: CatalogTable; readonly view: CatalogView };

/** Finds a table or view. */
export function findStored({ tables, views }: Catalog, folder: string, name: string): Stored | undefined {
  const table = tables.find((one) => one.folder === folder && one.name === name);
  if (table !== undefined) return { table };
  const view = views.find((one) => one.folder === folder && one.name === name);
  const of = view === undefined ? undefined : tables.find(({ id }) => id === view.table_id);
  return view === undefined || of === undefined ? undefined : { table: of, view };
}

/** @throws table_not_found */
export function requireStored(catalog: Catalog, { table, target, text }: TablePath): Stored {
  const found = findStored(catalog, folderSchema(target.text), table);
  if (found !== undefined) return found;
  throw appError("table_not_found", {
    detail: `Table ${text} does not exist.`,
    hint: `List the tables: cli ls ${target.text}`,
    meta: { table: text },
  });
}

/** The table that makes the rows of an iterator view. */
export function makerOf({ tables }: Catalog, { folder, rows_of: rowsOf }: CatalogTable): CatalogTable | undefined {
  return rowsOf == null ? undefined : tables.find((one) => one.folder === folder && one.name === rowsOf.table);
}

/** A table or view, and what it is over: all that a plan for it needs. */
export function declarationsAround(catalog: Catalog, of: Stored): readonly ManifestTable[] {
  const found = new Map<string, ManifestTable>();
  for (let at: Stored | undefined = of; at !== undefined; at = below(catalog, at)) {
    found.set((at.view ?? at.table).name, declarationOf(catalog, at));
  }
  return [...found.values()];
}

/** What a view is over. */
export function below(catalog: Catalog, { table, view }: Stored): Stored | undefined {
  if (view !== undefined) return findStored(catalog, view.folder, view.definition.base);
  return baseOf(catalog, table);
}

/** What an iterator view is over: the table that makes its rows, or a filtered view of that table. */
export function baseOf(catalog: Catalog, table: CatalogTable): Stored | undefined {
  const maker = makerOf(catalog, table);
  if (maker === undefined) return undefined;
  const view = catalog.views.find((one) => one.table_id === maker.id && one.name === table.rows_of?.base);
  return view === undefined ? { table: maker } : { table: maker, view };
}

/** Declares a table, or a view of any kind. */
export function declarationOf(catalog: Catalog, { table, view }: Stored): ManifestTable {
  if (view !== undefined) return declareView(catalog, table, view);
  const base = baseOf(catalog, table);
  return base === undefined ? declareTable(table) : declareIteratorView(catalog, table, base);
}

/** Declares tables and views, without the broken ones. */
export function declaredOver(catalog: Catalog, over: readonly Stored[]): readonly ManifestTable[] {
  return over.filter((one) => !isBroken(catalog, one)).map((one) => declarationOf(catalog, one));
}

function declareTable(table: CatalogTable): ManifestTable {
  const { comment, custom_metadata: customMetadata, has_default_idxs: hasDefaults, model, name } = table;
  const columns = table.columns.filter((column) => isOwn(column.name) && !isShadow(column)).map(declareColumn);
  return {
    name,
    model,
    comment,
    custom_metadata: customMetadata,
    columns,
    primary_key: [...table.primary_key],
    indexes: ownIndexes(table).filter((index) => !isDefault(index, hasDefaults ? columns : [])),
    has_default_idxs: hasDefaults,
    renamed_from: table.renamed_from ?? null,
    source: SOURCE,
  };
}

/** Columns of views have a dot in their names. */
function isOwn(name: string): boolean {
  return !name.includes(".");
}

function declareColumn({ id: _id, state: _state, ...column }: CatalogColumn): ManifestColumn {
  const { computed, default: defaultValue, is_hidden: isHidden } = column;
  return {
    name: column.name,
    type: column.type,
    nullable: column.nullable,
    primary_key: column.primary_key,
    computed: computed === null ? null : { text: computed.text, expr: computed.expr },
    ...(defaultValue == null ? {} : { default: defaultValue }),
    comment: column.comment,
    custom_metadata: column.custom_metadata,
    renamed_from: column.renamed_from ?? null,
    ...(isHidden === true ? { is_hidden: true } : {}),
    source: SOURCE,
  };
}

function usedIndexes({ indexes }: CatalogTable): readonly CatalogIndex[] {
  const retired = retiredIndexes(indexes);
  return indexes.filter(({ id }) => !retired.has(id));
}

function ownIndexes(table: CatalogTable): ManifestIndex[] {
  return usedIndexes(table)
    .filter(({ columns, name }) => isOwn(name ?? "") && columns.every(isOwn) && !columns.includes(BASE_ROW))
    .filter((index) => columnsIn(index).every(isOwn))
    .map((index) => declareIndex(index, (name) => name));
}

function declareIndex(
  { columns, embedding, kind, name }: CatalogIndex,
  nameOf: (name: string) => string,
): ManifestIndex {
  const common = { name, columns: columns.map(nameOf), source: SOURCE };
  if (kind === "btree" || embedding == null) return { kind: "btree", ...common };
  const { dimensions, embeds, metric, precision, values } = embedding;
  return {
    kind: "embedding",
    ...common,
    values: values === null ? null : nameOf(values),
    metric,
    precision,
    dimensions,
    ...(embeds == null ? {} : { embeds: { ...embeds } }),
  };
}

/** An index that has_default_idxs declares. */
export function isDefault(index: ManifestIndex, columns: readonly ManifestColumn[]): boolean {
  if (index.kind !== "btree" || index.name !== null || index.columns.length !== 1) return false;
  return columns.some((column) => column.name === index.columns[0] && isIndexable(column));
}

/** An index for people: its name, or what it is over. */
export function labelOfIndex({ columns, kind, name }: ManifestIndex): string {
  return name === null ? `${kind} over (${columns.join(", ")})` : `'${name}'`;
}

/** Names of the columns that a base shows, by their names in the table with its rows. */
function shownBy(catalog: Catalog, { table, view }: Stored): ReadonlyMap<string, string> {
  if (view === undefined) {
    const shown = table.columns.filter(({ is_hidden: isHidden, name }) => isHidden !== true && isOwn(name));
    return new Map([...carriedBy(catalog, table), ...shown.map(({ name }): [string, string] => [name, name])]);
  }
  const base = findStored(catalog, view.folder, view.definition.base);
  return new Map([
    ...(base === undefined ? [] : shownBy(catalog, base)),
    ...view.definition.columns.flatMap(({ column, name, up }): [string, string][] =>
      up === undefined ? [[column, name]] : [],
    ),
  ]);
}

/** The hidden copies of columns of the base in the rows of an iterator view. */
function carriedBy(catalog: Catalog, table: CatalogTable): readonly [string, string][] {
  if (makerOf(catalog, table) === undefined) return [];
  return table.columns.flatMap(({ computed, name }): [string, string][] =>
    isOwn(name) || computed !== null ? [] : [[name, name.slice(name.indexOf(".") + 1)]],
  );
}

function declareView(catalog: Catalog, table: CatalogTable, view: CatalogView): ManifestTable {
  const { columns, filter, member } = view.definition;
  const base = findStored(catalog, view.folder, view.definition.base);
  const above = base?.view?.definition.member ?? null;
  const inherited = base === undefined ? new Map<string, string>() : shownBy(catalog, base);
  const own = columns.flatMap(({ column, name, up }) => {
    const stored = table.columns.find((one) => one.name === column);
    return up !== undefined || stored === undefined || column !== viewColumnName(view.name, name)
      ? []
      : [{ name, stored }];
  });
  const indexes = usedIndexes(table).filter((index) => isOfView(index, view.name));
  const vectors = indexes.flatMap(({ embedding }) => {
    const stored = table.columns.find((one) => one.name === embedding?.values);
    return stored === undefined ? [] : [{ name: stored.name.slice(view.name.length + 1), stored }];
  });
  const names = new Map([
    ...inherited,
    ...[...own, ...vectors].map(({ name, stored }) => [stored.name, name] as const),
  ]);
  const nameOf = (name: string): string => names.get(name) ?? name;
  const place = ({ name, stored }: (typeof own)[number], isHidden: boolean): ManifestColumn => {
    const { computed } = stored;
    const value = computed === null || member === null ? computed?.expr : guardOf(computed.expr).value;
    const { is_hidden: _isHidden, ...column } = declareColumn(stored);
    return {
      ...column,
      name,
      computed:
        computed === null || value === undefined ? null : { text: computed.text, expr: renameInExpr(value, names) },
      renamed_from: null,
      ...(isHidden ? { is_hidden: true } : {}),
    };
  };
  const ownNames = new Set(own.map(({ stored }) => stored.name));
  const shown = columns.filter(({ column, up }) => up !== undefined || !ownNames.has(column)).map(({ name }) => name);
  return {
    name: view.name,
    model: view.model,
    comment: view.comment,
    custom_metadata: view.custom_metadata,
    columns: [...own.map((one) => place(one, false)), ...vectors.map((one) => place(one, true))],
    view: {
      base: view.definition.base,
      filter: filter === null ? null : { text: filter, expr: renameInExpr(filterOf(view, table, above), inherited) },
      columns: base === undefined || showsAll(catalog, base, shown) ? null : shown,
    },
    primary_key: [],
    indexes: indexes.map((index) => {
      const declared = declareIndex(index, nameOf);
      return { ...declared, name: index.name === null ? null : index.name.slice(view.name.length + 1) };
    }),
    has_default_idxs: false,
    renamed_from: view.renamed_from,
    source: SOURCE,
  };
}

function isOfView(index: CatalogIndex, view: string): boolean {
  const isIn = (name: string): boolean => name.startsWith(`${view}.`);
  return index.name === null ? columnsIn(index).some(isIn) : isIn(index.name);
}

/** The declared condition over columns of the table, without that of the base. */
function filterOf({ definition, name }: CatalogView, table: CatalogTable, above: Expr | null): Expr {
  const { member } = definition;
  const column = table.columns.find((one) => one.name === viewColumnName(name, null));
  if (column?.computed != null) return above === null ? column.computed.expr : guardOf(column.computed.expr).value;
  if (member === null) throw new TypeError(`The view ${name} has a condition and no expression of it.`);
  if (lacksColumn({ definition }, table)) throw broken(table, name);
  return above === null ? member : withoutAbove(member);
}

/** Whether a view has no rows, because a fill that failed has dropped the column that its condition reads, or that makes them. */
export function isBroken(catalog: Catalog, { table, view }: Stored): boolean {
  if (view !== undefined && lacksColumn(view, table)) return true;
  const { rows_of: rowsOf } = table;
  if (rowsOf == null) return false;
  const base = baseOf(catalog, table);
  return (
    base === undefined || base.table.columns.every(({ name }) => name !== rowsOf.column) || isBroken(catalog, base)
  );
}

/** Nothing else has the condition. */
function lacksColumn(view: Pick<CatalogView, "definition">, table: CatalogTable): boolean {
  return readableMember(view, table) !== view.definition.member;
}

function broken({ folder }: CatalogTable, name: string): Error {
  const path = folder === "public" ? name : `${folder}/${name}`;
  return appError("schema_unsupported", {
    detail: `The view ${path} has no rows, because the job that would have computed them failed.`,
    hint: `Correct its file, then run cli schema update; or drop the view: cli drop DATABASE/${path}`,
    meta: { table: path },
  });
}

/** Whether a view shows all columns of its base. */
function showsAll(catalog: Catalog, base: Stored, shown: readonly string[]): boolean {
  return columnsShown(catalog, base).every((name) => shown.includes(name));
}

/** Names of the columns that a table or view shows, those of its bases first. */
export function columnsShown(catalog: Catalog, { table, view }: Stored): readonly string[] {
  if (view !== undefined) return view.definition.columns.map(({ name }) => name);
  const base = baseOf(catalog, table);
  const own = table.columns.filter(({ is_hidden: isHidden, name }) => isHidden !== true && isOwn(name));
  const above = base === undefined ? [] : (shownOfBase(catalog, table, base) ?? columnsShown(catalog, base));
  return [...new Set([...above, ...own.map(({ name }) => name)])];
}

/** The columns of its base that an iterator view shows; null for all. */
function shownOfBase(catalog: Catalog, { rows_of: rowsOf }: CatalogTable, base: Stored): string[] | null {
  if (rowsOf?.columns === undefined) return null;
  const kept = new Set(rowsOf.columns.map(({ name }) => name));
  const all = columnsShown(catalog, base);
  return all.every((name) => kept.has(name)) ? null : all.filter((name) => kept.has(name));
}

function declareIteratorView(catalog: Catalog, table: CatalogTable, base: Stored): ManifestTable {
  const { computed } = base.table.columns.find(({ name }) => name === table.rows_of?.column) ?? {};
  const made = computed == null ? undefined : madeRowsIn(computed.expr);
  if (computed == null || made === undefined) throw broken(table, table.name);
  const inherited = shownBy(catalog, base);
  const given = new Set([BASE_ROW, "pos", ...made.outputs.map(({ name }) => name)]);
  const texts = new Map(Object.entries(table.rows_of?.values ?? {}));
  const selected: string[] = [];
  const plain = declareTable({ ...table, columns: table.columns.filter(({ name }) => !given.has(name)) });
  const columns = plain.columns.map((column): ManifestColumn => {
    const own = made.computed.find(({ name, is_own: isOwnColumn }) => name === column.name && !isOwnColumn);
    if (column.computed !== null || own === undefined) return column;
    const isSelected = JSON.stringify(ofMadeRow(own.expr, (name) => name)) === JSON.stringify(own.expr);
    if (isSelected) selected.push(column.name);
    const expr = isSelected
      ? renameInExpr(own.expr, inherited)
      : ofMadeRow(own.expr, (name) => inherited.get(name) ?? name);
    return { ...column, computed: { text: texts.get(column.name) ?? column.name, expr } };
  });
  const condition = conditionOf(table, base, guardOf(computed.expr).member);
  return {
    ...plain,
    columns,
    view: {
      base: (base.view ?? base.table).name,
      filter: condition === null ? null : { ...condition, expr: renameInExpr(condition.expr, inherited) },
      columns: shownOfBase(catalog, table, base),
      ...(selected.length === 0 ? {} : { selected }),
      iterator: iteratorOf(made, table.rows_of?.text ?? "", inherited),
    },
    indexes: ownIndexes(table).filter((index) => !isDefault(index, table.has_default_idxs ? plain.columns : [])),
  };
}

/** The declared condition of an iterator view over columns of the table, without that of its base. */
function conditionOf(
  { name }: CatalogTable,
  { table, view }: Stored,
  member: Expr | null,
): { readonly text: string; readonly expr: Expr } | null {
  const above = view?.definition.member ?? null;
  const column = table.columns.find((one) => one.name === conditionColumn(name))?.computed;
  if (column != null) return { text: column.text, expr: above === null ? column.expr : guardOf(column.expr).value };
  if (member === null || (above !== null && isSameExpr(member, above))) return null;
  return { text: "", expr: above === null ? member : withoutAbove(member) };
}

/** The second part of the conditions of a base and of a view over it. */
function withoutAbove(member: Expr): Expr {
  const [, own] = member.node === "call" && member.fn === "op.and" ? member.args : [];
  return own ?? member;
}

function iteratorOf(
  { call, outputs }: NonNullable<ReturnType<typeof madeRowsIn>>,
  text: string,
  inherited: ReadonlyMap<string, string>,
): ManifestIterator {
  if (call.node !== "udf" && call.node !== "call") throw new TypeError("Rows are made by a call.");
  const isUdf = call.node === "udf";
  return {
    fn: isUdf ? call.function : call.fn,
    is_udf: isUdf,
    args: call.args.map((arg) => renameInExpr(arg, inherited)),
    kwargs: Object.fromEntries(Object.entries(call.kwargs).map(([name, arg]) => [name, renameInExpr(arg, inherited)])),
    text,
    outputs: outputs.map((output) => ({ ...output, is_stored: true })),
  };
}
