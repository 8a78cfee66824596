import { appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import type { ManifestColumn, ManifestIndex, ManifestTable } from "@appdb/contract/manifest";
import type { TableChange } from "@appdb/contract/routes/table-changes";
import type { ManifestIterator } from "@appdb/contract/views";
import { isIndexable } from "../catalog/operations.ts";
import { renameInExpr } from "../catalog/rename-catalog.ts";
import { isDefault, labelOfIndex } from "./read-declaration.ts";
import { renameInText } from "./rename-in-text.ts";

type Of<Kind extends TableChange["change"]> = Extract<TableChange, { readonly change: Kind }>;

/** A table or view with all columns that it shows, those of its bases among them. */
export interface Edited {
  readonly path: string;
  readonly table: ManifestTable;
  readonly shown: readonly string[];
}

/** Adds columns; undefined if all exist already. @throws column_exists */
export function addColumns(
  { path, shown, table }: Edited,
  { columns, if_exists: ifExists }: Of<"add_columns">,
): ManifestTable | undefined {
  const exists = ({ name }: ManifestColumn): boolean =>
    shown.includes(name) || table.columns.some((column) => column.name === name);
  const twin = columns.find(exists);
  const inherited = columns.find((column) => exists(column) && table.columns.every(({ name }) => name !== column.name));
  if (twin !== undefined && (ifExists === "error" || (ifExists === "replace" && inherited !== undefined))) {
    throw appError("column_exists", {
      detail: `${path} has a column '${(ifExists === "error" ? twin : inherited)?.name}' already.`,
      hint: `Give the new column another name${inherited === undefined ? ', or replace it: if_exists="replace"' : ""}.`,
      meta: { table: path, column: twin.name },
    });
  }
  const added = columns.filter((column) => ifExists === "replace" || !exists(column)).map(withoutOrigin);
  if (added.length === 0) return undefined;
  const replaced = new Map(added.map((column) => [column.name, column]));
  const known = new Set(table.columns.map(({ name }) => name));
  return {
    ...table,
    columns: [
      ...table.columns.map((column) => replaced.get(column.name) ?? column),
      ...added.filter(({ name }) => !known.has(name)),
    ],
  };
}

/** A column of a request: only declarations of files rename. */
export function withoutOrigin({ view: _view, ...column }: ManifestColumn): ManifestColumn {
  return { ...column, renamed_from: null };
}

/** Drops columns; undefined if none exists. @throws column_not_found */
export function dropColumns(
  { path, shown, table }: Edited,
  { columns, if_not_exists: ifNotExists }: Of<"drop_columns">,
): ManifestTable | undefined {
  const own = new Set(table.columns.map(({ name }) => name));
  const missing = columns.find((name) => !own.has(name));
  if (missing !== undefined && (ifNotExists === "error" || shown.includes(missing))) {
    throw columnNotFound(path, missing, shown);
  }
  const dropped = columns.filter((name) => own.has(name));
  if (dropped.length === 0) return undefined;
  return { ...table, columns: table.columns.filter(({ name }) => !dropped.includes(name)) };
}

/** A view that no longer shows dropped columns. */
export function withoutColumns(view: ManifestTable, gone: ReadonlySet<string>): ManifestTable {
  const shown = view.view?.columns;
  if (view.view === undefined || shown == null) return view;
  return { ...view, view: { ...view.view, columns: shown.filter((name) => !gone.has(name)) } };
}

export function columnNotFound(path: string, name: string, shown: readonly string[]): Error {
  const isInherited = shown.includes(name);
  return appError("column_not_found", {
    detail: isInherited
      ? `'${name}' is not a column of the view ${path} itself: its base has it, or its iterator gives it.`
      : `${path} has no column '${name}'.`,
    hint: isInherited ? "Change the base of the view." : `Its columns are: ${shown.join(", ")}`,
    meta: { table: path, column: name },
  });
}

/** Renames a column and everything that reads it, in its table and in views over it. @throws column_exists,
 *  column_not_found */
export function renameColumn(
  { path, shown, table }: Edited,
  views: readonly ManifestTable[],
  { column, to }: Of<"rename_column">,
): { readonly table: ManifestTable; readonly views: readonly ManifestTable[] } {
  if (table.columns.every(({ name }) => name !== column)) throw columnNotFound(path, column, shown);
  if (shown.includes(to) || table.columns.some(({ name }) => name === to)) {
    throw appError("column_exists", {
      detail: `${path} has a column '${to}' already.`,
      hint: "Give the column another name.",
      meta: { table: path, column: to },
    });
  }
  const names = new Map([[column, to]]);
  const nameOf = (name: string): string => names.get(name) ?? name;
  const follow = (one: ManifestTable): ManifestTable => ({
    ...one,
    columns: one.columns.map((own) => ({ ...own, computed: renamed(own.computed, names) })),
    primary_key: one.primary_key.map(nameOf),
    indexes: one.indexes.map((index): ManifestIndex => ({ ...index, columns: index.columns.map(nameOf) })),
    ...(one.view === undefined
      ? {}
      : {
          view: {
            ...one.view,
            filter: renamed(one.view.filter, names),
            columns: one.view.columns?.map(nameOf) ?? null,
            ...(one.view.iterator === undefined ? {} : { iterator: renamedCall(one.view.iterator, names) }),
          },
        }),
  });
  // The filter of the view itself reads its base.
  const { columns, ...own } = follow(table);
  return {
    table: {
      ...own,
      columns: columns.map((one) => (one.name === column ? { ...one, name: to, renamed_from: column } : one)),
      ...(table.view === undefined ? {} : { view: table.view }),
    },
    views: views.map(follow),
  };
}

function renamedCall(iterator: ManifestIterator, names: ReadonlyMap<string, string>): ManifestIterator {
  const { args, kwargs, text } = iterator;
  const now = {
    ...iterator,
    args: args.map((arg) => renameInExpr(arg, names)),
    kwargs: Object.fromEntries(Object.entries(kwargs).map(([name, arg]) => [name, renameInExpr(arg, names)])),
  };
  const isCalled = JSON.stringify(now) !== JSON.stringify(iterator);
  return isCalled ? { ...now, text: renameInText(text, names) } : iterator;
}

function renamed<Value extends { readonly text: string; readonly expr: Expr }>(
  value: Value | null,
  names: ReadonlyMap<string, string>,
): { text: string; expr: Expr } | null {
  if (value === null) return null;
  const expr = renameInExpr(value.expr, names);
  const isSame = JSON.stringify(expr) === JSON.stringify(value.expr);
  return { text: isSame ? value.text : renameInText(value.text, names), expr };
}

/** Adds an index; undefined if it exists already. @throws index_exists */
export function addIndex(
  { path, table }: Edited,
  { columns, if_exists: ifExists, index }: Of<"add_index">,
): ManifestTable | undefined {
  const existing = allIndexes(table);
  const twin = existing.find((one) =>
    index.name === null
      ? one.name === null && one.kind === index.kind && one.columns.join() === index.columns.join()
      : one.name === index.name,
  );
  if (twin !== undefined && ifExists === "ignore") return undefined;
  if (twin !== undefined && ifExists === "error") {
    throw appError("index_exists", {
      detail: `${path} has the index ${labelOfIndex(index)} already.`,
      hint: index.name === null ? "Use the existing index." : "Give the new index another name.",
      meta: { table: path, index: index.name },
    });
  }
  const kept = twin === undefined ? table : withoutIndex(table, twin);
  const taken = new Set(kept.columns.map(({ name }) => name));
  const names = new Map(columns.map(({ name }) => [name, freeName(name, taken)]));
  const hidden = columns.map((column) => {
    return { ...withoutOrigin(column), name: names.get(column.name) ?? column.name, is_hidden: true };
  });
  const { renamed_from: _former, ...plain } = index;
  const placed: ManifestIndex =
    plain.kind === "embedding" && plain.values !== null
      ? { ...plain, values: names.get(plain.values) ?? plain.values }
      : plain;
  return { ...kept, columns: [...kept.columns, ...hidden], indexes: [...kept.indexes, placed] };
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  for (let number = 2, free = name; ; number++) {
    if (!taken.has(free)) return free;
    free = `${name}_${number}`;
  }
}

/** Drops an index; undefined if it does not exist. @throws index_not_found, invalid_request for several indexes */
export function dropIndex(
  { path, table }: Edited,
  { column, if_not_exists: ifNotExists, index }: Of<"drop_index">,
): ManifestTable | undefined {
  const all = allIndexes(table);
  const found =
    index === null
      ? all.filter(({ columns }) => column !== null && columns.includes(column))
      : all.filter(({ name }) => name === index);
  const [first, second] = found;
  if (second !== undefined) {
    throw appError("invalid_request", {
      detail: `${path} has several indexes over '${column}': ${found.map(labelOfIndex).join(", ")}.`,
      hint: "Name the index to drop.",
      meta: { table: path, column },
    });
  }
  if (first === undefined && ifNotExists === "ignore") return undefined;
  if (first === undefined) {
    throw appError("index_not_found", {
      detail: `${path} has no index ${index === null ? `over '${column}'` : `'${index}'`}.`,
      hint: all.length === 0 ? "It has no index." : `Its indexes are: ${all.map(labelOfIndex).join(", ")}`,
      meta: { table: path, index, column },
    });
  }
  return withoutIndex(table, first);
}

/** The declared indexes and those that has_default_idxs adds. */
function allIndexes({ columns, has_default_idxs: hasDefaults, indexes, source }: ManifestTable): ManifestIndex[] {
  if (!hasDefaults) return indexes;
  const defaults = columns
    .filter((column) => isIndexable(column) && column.is_hidden !== true)
    .map((column): ManifestIndex => ({ kind: "btree", name: null, columns: [column.name], source }));
  return [...indexes, ...defaults];
}

/** A default index goes with the declaration of all others. */
function withoutIndex(table: ManifestTable, index: ManifestIndex): ManifestTable {
  const isOfDefaults = table.has_default_idxs && isDefault(index, table.columns);
  const key = JSON.stringify([index.kind, index.name, index.columns]);
  const indexes = (isOfDefaults ? allIndexes(table) : table.indexes).filter(
    (one) => JSON.stringify([one.kind, one.name, one.columns]) !== key,
  );
  const values = index.kind === "embedding" ? index.values : null;
  const isUsed = indexes.some((one) => one.kind === "embedding" && one.values === values);
  return {
    ...table,
    has_default_idxs: table.has_default_idxs && !isOfDefaults,
    indexes,
    columns: values === null || isUsed ? table.columns : table.columns.filter(({ name }) => name !== values),
  };
}
