import { appError } from "@appdb/contract/errors";
import type { Manifest, ManifestColumn, ManifestTable } from "@appdb/contract/manifest";
import { parseTablePath, type TablePath } from "@appdb/contract/names";
import { displayType } from "@appdb/contract/types";
import { VERSION } from "@appdb/contract/version";
import { queriesOf } from "../bound-queries/column-queries.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { isSameType } from "../catalog/compare.ts";
import { planSchema } from "../schema/plan-schema.ts";
import { folderSchema } from "../target.ts";
import { lowerViews } from "../views/lower-views.ts";
import type { ChangeInput, Of, Step } from "./change-step.ts";
import { checkReads } from "./check-reads.ts";
import { nameOf, queriesOver, readersOf, refuseDependents, viewsOver, withoutMade } from "./dependents.ts";
import {
  addColumns,
  addIndex,
  dropColumns,
  dropIndex,
  type Edited,
  renameColumn,
  withoutColumns,
  withoutOrigin,
} from "./edit-declaration.ts";
import { textOf } from "./follow-columns.ts";
import { createFolder, dropFolder, isFolder, moveFolder } from "./plan-folder.ts";
import { declareModels } from "./plan-models.ts";
import {
  below,
  columnsShown,
  declarationOf,
  declarationsAround,
  declaredOver,
  findStored,
  requireStored,
  type Stored,
} from "./read-declaration.ts";

interface Place {
  /** The path for people: `main/reports/docs`. */
  readonly path: string;
  readonly target: string;
  readonly folder: string;
  readonly name: string;
  readonly parsed: TablePath;
}

/** Finds what a change does with the tables of a catalog. Pure. @throws the errors of a change that cannot be made */
export function planChange(input: ChangeInput): Step {
  const { change } = input;
  switch (change.change) {
    case "create_table":
      return createTable(input, change);
    case "drop_table":
      return dropTable(input, change);
    case "move_table":
      return moveTable(input, change);
    case "create_folder":
      return createFolder(input, change);
    case "drop_folder":
      return dropFolder(input, change);
    case "update_tables": {
      const { tables, target } = declareModels(input, change);
      return { kind: "apply", target, manifest: manifestOf(input, tables), replaced: [], of: "models" };
    }
    default:
      return editTable(input, change);
  }
}

/** @throws invalid_target */
function placeOf({ database }: ChangeInput, text: string): Place {
  const parsed = parseTablePath(`${database}/${text}`);
  const target = parsed.target.text;
  return { path: parsed.text, target, folder: folderSchema(target), name: parsed.table, parsed };
}

function tableExists({ path }: Place): Error {
  return appError("table_exists", {
    detail: `${path} exists already.`,
    hint: `Use another name, or drop it first: cli drop ${path}`,
    meta: { table: path },
  });
}

function createTable(input: ChangeInput, { definition, if_exists: ifExists, table }: Of<"create_table">): Step {
  const place = placeOf(input, table);
  const stored = findStored(input.catalog, place.folder, place.name);
  if (stored !== undefined && ifExists === "ignore") return { kind: "nothing" };
  if (stored !== undefined && ifExists === "error") throw tableExists(place);
  const replaced = stored === undefined ? [] : [stored];
  if (stored !== undefined) refuseUsed(input, place.path, stored);
  const { rows_of: _rowsOf, ...plain } = definition;
  const declared: ManifestTable = {
    ...plain,
    name: place.name,
    columns: definition.columns.map(withoutOrigin),
    renamed_from: null,
  };
  const base = baseOf(input, place, declared);
  const others = base === undefined ? [] : declarationsAround(input.catalog, base);
  checkReads(place.path, declared, base === undefined ? [] : columnsShown(input.catalog, base));
  const manifest = manifestOf(input, [...others, declared]);
  return { kind: "apply", target: place.target, manifest, replaced, of: "new" };
}

function baseOf(input: ChangeInput, place: Place, { view }: ManifestTable): Stored | undefined {
  if (view === undefined) return undefined;
  const found = findStored(input.catalog, place.folder, view.base);
  if (found !== undefined && view.base !== place.name) return found;
  throw appError("table_not_found", {
    detail: `The base of the view ${place.path} does not exist: ${place.target}/${view.base}.`,
    hint: "Create the base first. A view and its base are in the same folder.",
    meta: { table: `${place.target}/${view.base}` },
  });
}

function manifestOf(
  { catalog, functions, resource_pools: pools }: ChangeInput,
  tables: readonly ManifestTable[],
): Manifest {
  const queries = catalog.tables.flatMap(({ columns }) => columns.flatMap(({ computed }) => computed?.queries ?? []));
  return {
    manifest_version: 1,
    library_version: VERSION,
    python_version: "",
    app_file: "",
    tables: [...tables],
    // The catalog has the digests of functions that it knows, with the modules that they use.
    functions: functions.filter(({ id }) => !catalog.functions.has(id)),
    queries: [...new Map(queries.map((query) => [query.id, query])).values()],
    resource_pools: pools,
    services: [],
    modules: [],
    warnings: [],
  };
}

function editTable(
  input: ChangeInput,
  change: Of<"add_columns" | "drop_columns" | "rename_column" | "add_index" | "drop_index">,
): Step {
  const { catalog } = input;
  const place = placeOf(input, change.table);
  const stored = requireStored(input.catalog, place.parsed);
  const around = declarationsAround(catalog, stored);
  const over = viewsOver(catalog, stored);
  const above = declaredOver(catalog, over);
  const declared = around.find(({ name }) => name === place.name) ?? declarationOf(catalog, stored);
  const kept = around.filter(({ name }) => name !== place.name);
  const views = [above, withoutMade(above), []].find((some) => isSame(input, place, [...around, ...some]));
  if (views === undefined) throw ofFile(place);
  const edited: Edited = { path: place.path, table: declared, shown: columnsShown(catalog, stored) };
  const update = (table: ManifestTable | undefined, others: readonly ManifestTable[] = views): Step => {
    if (table === undefined) return { kind: "nothing" };
    checkReads(place.path, table, edited.shown);
    const manifest = manifestOf(input, [...kept, table, ...others]);
    return { kind: "apply", target: place.target, manifest, replaced: [], of: "known" };
  };
  switch (change.change) {
    case "add_columns":
      for (const column of change.columns) refuseOtherType(column, change, { catalog, stored, place, declared, above });
      return update(addColumns(edited, change));
    case "add_index":
      return update(addIndex(edited, change));
    case "drop_index":
      return update(dropIndex(edited, change));
    case "drop_columns": {
      const dropped = dropColumns(edited, change);
      const gone = new Set(change.columns);
      for (const column of change.columns) {
        const remaining = {
          ...declared,
          columns: declared.columns.filter(({ name }) => !gone.has(name) || name === column),
        };
        const readers = [
          ...readersOf(column, remaining, above),
          ...queriesOver(catalog, stored.table, isStoredAs(stored, column)),
        ];
        refuseDependents(`Column '${column}' of ${place.path}`, readers, "Drop or change these first.");
      }
      const without = views.map((view) => withoutColumns(view, gone));
      return update(dropped, without);
    }
    case "rename_column": {
      const { table, views: renamedViews } = renameColumn(edited, views, change);
      const left = above.filter((one) => !views.includes(one)).map(({ name }) => `the view '${name}'`);
      const readers = [...left, ...queriesOver(catalog, stored.table, isStoredAs(stored, change.column))];
      const hint = "Rename it in the application's file, and update the tables: cli schema update";
      refuseDependents(`Column '${change.column}' of ${place.path}`, readers, hint);
      return update(table, renamedViews);
    }
  }
}

/** What reads a replaced column has expressions over its previous type. @throws has_dependents */
function refuseOtherType(
  { name, type }: ManifestColumn,
  { columns, if_exists: ifExists }: Of<"add_columns">,
  at: {
    readonly catalog: Catalog;
    readonly stored: Stored;
    readonly place: Place;
    readonly declared: ManifestTable;
    readonly above: readonly ManifestTable[];
  },
): void {
  const { above, catalog, declared, place, stored } = at;
  const before = declared.columns.find((column) => column.name === name);
  if (ifExists !== "replace" || before === undefined || isSameType(before.type, type)) return;
  const replaced = new Set(columns.map((column) => column.name));
  // Indexes are built again.
  const own = { ...declared, indexes: [], columns: declared.columns.filter((column) => !replaced.has(column.name)) };
  const readers = [
    ...readersOf(
      name,
      own,
      above.map((view) => ({ ...view, indexes: [] })),
    ),
    ...queriesOver(catalog, stored.table, isStoredAs(stored, name)),
  ];
  const change = `from ${displayType(before.type, before.nullable)} to ${displayType(type, before.nullable)}`;
  refuseDependents(
    `Column '${name}' of ${place.path} cannot change ${change}: it`,
    readers,
    "Drop what reads it first, and add it again afterwards.",
  );
}

/** Whether a column of a query is a column of a table or view, which has it under a longer name. */
function isStoredAs({ view }: Stored, column: string): (name: string) => boolean {
  return (name) => name === (view === undefined ? column : `${view.name}.${column}`);
}

/** Whether declarations made of the catalog declare what it has. Values of previous code do not count. */
function isSame(
  { catalog, ...input }: ChangeInput,
  { folder, target }: Place,
  tables: readonly ManifestTable[],
): boolean {
  const manifest = manifestOf({ ...input, catalog }, tables);
  const { operations, views } = planSchema({ manifest, catalog, target });
  const showsSame = lowerViews(manifest).tables.every(({ name, rows_of: rowsOf }) => {
    const stored = catalog.tables.find((table) => table.folder === folder && table.name === name)?.rows_of;
    return textOf(stored?.columns ?? []) === textOf(rowsOf?.columns ?? []);
  });
  if (!showsSame) return false;
  const isStale = (operation: (typeof operations)[number]): boolean =>
    operation.kind === "alter_column" && operation.changes.every((change) => change === "stale");
  return views.length === 0 && operations.every(isStale);
}

function ofFile({ path, target }: Place): Error {
  return appError("schema_unsupported", {
    detail: `${path} has columns that only its application file declares, so its columns and indexes change there.`,
    hint: `Change the file, then: cli schema update app.py ${target}`,
    meta: { table: path },
  });
}

/** The columns that a change declares, for each of its `changedTables`. */
export function columnsOf(change: ChangeInput["change"]): readonly (readonly ManifestColumn[])[] {
  const whole = ({ columns, unstored = [] }: ManifestTable) => [...columns, ...unstored];
  switch (change.change) {
    case "create_table":
      return [whole(change.definition)];
    case "update_tables":
      return change.definitions.map(whole);
    case "add_columns":
    case "add_index":
      return [change.columns];
    default:
      return [];
  }
}

/** The ids of queries that new columns call, which only a file can declare. */
export function queriesIn({ change }: Pick<ChangeInput, "change">): readonly string[] {
  const computed = columnsOf(change).flatMap((columns) => columns.flatMap((column) => column.computed ?? []));
  return computed.flatMap(({ expr }) => queriesOf(expr));
}

function refuseUsed(input: ChangeInput, path: string, stored: Stored): void {
  const views = viewsOver(input.catalog, stored).map((one) => `the view '${nameOf(one)}'`);
  const queries = stored.view === undefined ? queriesOver(input.catalog, stored.table) : [];
  refuseDependents(path, [...views, ...queries], `Drop these first. With its views: cli drop ${path} --cascade`);
}

function dropTable(input: ChangeInput, change: Of<"drop_table">): Step {
  const place = placeOf(input, change.table);
  if (change.if_not_exists === "ignore" && findStored(input.catalog, place.folder, place.name) === undefined) {
    return { kind: "nothing" };
  }
  refuseFolder(input, place);
  const stored = requireStored(input.catalog, place.parsed);
  if (!change.force) refuseUsed(input, place.path, stored);
  const dropped = [...viewsOver(input.catalog, stored), stored];
  refuseReadFromOutside(input, place.path, dropped);
  return { kind: "drop", dropped, folders: [] };
}

/** @throws table_not_found for a folder, if no table has its path */
function refuseFolder(input: ChangeInput, { folder, name, path }: Place): void {
  if (findStored(input.catalog, folder, name) !== undefined || !isFolder(input, path)) return;
  throw appError("table_not_found", {
    detail: `${path} is a folder. A table or view is expected.`,
    hint: `Drop the folder: cli drop-dir ${path}`,
    meta: { table: path },
  });
}

/** Queries of columns that stay cannot lose their tables. @throws has_dependents */
function refuseReadFromOutside({ catalog }: ChangeInput, path: string, dropped: readonly Stored[]): void {
  const gone = new Set(dropped.flatMap(({ table, view }) => (view === undefined ? [table.id] : [])));
  const staying = { ...catalog, tables: catalog.tables.filter(({ id }) => !gone.has(id)) };
  const readers = dropped.flatMap(({ table, view }) => (view === undefined ? queriesOver(staying, table) : []));
  refuseDependents(path, readers, "Drop these columns first.");
}

function moveTable(input: ChangeInput, change: Of<"move_table">): Step {
  const { catalog } = input;
  const place = placeOf(input, change.table);
  const to = placeOf(input, change.to);
  const isTable = findStored(catalog, place.folder, place.name) !== undefined;
  if (!isTable && isFolder(input, place.path)) {
    if (findStored(catalog, to.folder, to.name) !== undefined) throw tableExists(to);
    return moveFolder(input, change);
  }
  const stored = requireStored(catalog, place.parsed);
  if (place.path === to.path) return { kind: "nothing" };
  const taken = findStored(catalog, to.folder, to.name);
  if (taken !== undefined && change.if_exists !== "replace") throw tableExists(to);
  const replaced = taken === undefined ? [] : [taken];
  if (taken !== undefined) refuseUsed(input, to.path, taken);
  const queries = stored.view === undefined ? queriesOver(catalog, stored.table) : [];
  refuseDependents(place.path, queries, "Drop these columns first, or rename the table in the application's file.");
  const over = viewsOver(catalog, stored);
  if (place.folder !== to.folder) {
    const views = over.map((one) => `the view '${nameOf(one)}'`);
    refuseDependents(place.path, views, "A view and its base are in the same folder. Drop the views first.");
    const base = below(catalog, stored);
    if (base !== undefined) {
      throw appError("has_dependents", {
        detail: `${place.path} is a view of '${nameOf(base)}', which is in the same folder. Nothing was changed.`,
        hint: "A view and its base are in one folder. Create the view again over a base in the other folder.",
        meta: { table: place.path },
      });
    }
    return { kind: "move", table: stored.table, replaced, to: { folder: to.folder, name: to.name } };
  }
  // Views over a table follow its new name. Those over a view have it in their declarations.
  const direct = over.filter(({ view }) => view?.table_id === stored.table.id);
  const filtered = stored.view === undefined ? [] : declaredOver(catalog, direct);
  const around = [...declarationsAround(catalog, stored), ...filtered];
  if (!isSame(input, place, around)) throw ofFile(place);
  const tables = around.map((one): ManifestTable => {
    if (one.name === place.name) return { ...one, name: to.name, renamed_from: place.name };
    return one.view?.base === place.name ? { ...one, view: { ...one.view, base: to.name } } : one;
  });
  return { kind: "apply", target: place.target, manifest: manifestOf(input, tables), replaced, of: "known" };
}
