import type {
  Manifest,
  ManifestRoute,
  ManifestRowRoute,
  ManifestTable,
  ManifestUpdateRoute,
} from "@appdb/contract/manifest";
import { nearestName } from "@appdb/contract/nearest";
import { referencedColumns } from "../expressions/needs-python.ts";
import { lowerViews } from "../views/lower-views.ts";
import {
  compareFileResponse,
  compareNames,
  compareRequired,
  compareUploads,
  type RouteChanges,
} from "./route-changes.ts";
import type { Manifests, Refuse, RouteKind } from "./route-kind.ts";

/** A route that takes values of a row and returns values of it. */
export type OverRow = ManifestRowRoute | ManifestUpdateRoute;

/** The common parts of the kinds of routes over a row. */
export const OVER_ROW = {
  isHandler: false,
  computesColumns: true,
  changesRows: true,
  compare: compareRows,
} as const satisfies Partial<RouteKind<OverRow>>;

/** The description of a route over a table for people. */
export function describeOverTable(table: string, inputs: readonly string[], outputs: readonly string[]) {
  return { table, query: null, one_row: false, inputs: [...inputs], outputs: [...outputs] };
}

/** The table whose rows a route takes. Refuses a missing one, and views. */
export function checkedTable(manifest: Manifest, name: string, refuse: Refuse): ManifestTable {
  const table = checkedRows(manifest, name, refuse);
  if (table.rows_of === undefined) return table;
  return refuse(
    `${name} is a view with an iterator. Its rows are made of rows of ${table.rows_of.table}; name that table in the route.`,
  );
}

/** A table whose rows are read: that of a view with an iterator too. Refuses a missing one. */
export function checkedRows(manifest: Manifest, name: string, refuse: Refuse): ManifestTable {
  const table = manifest.tables.find((candidate) => candidate.name === name);
  if (table !== undefined) return table;
  const view = lowerViews(manifest).views.find((candidate) => candidate.name === name);
  if (view === undefined) return refuse(`Table ${name} does not exist.`);
  return refuse(`${name} is a view. Its rows are rows of the table ${view.table}; name that table in the route.`);
}

/** The stored and unstored columns of a table. */
export function allColumns({ columns, unstored = [] }: Pick<ManifestTable, "columns" | "unstored">) {
  return unstored.length === 0 ? columns : [...columns, ...unstored];
}

/** Refuses columns that the table lacks. */
export function checkNames(table: ManifestTable, names: readonly string[], refuse: Refuse): void {
  const known = allColumns(table).map((column) => column.name);
  for (const name of names) {
    if (known.includes(name)) continue;
    const nearest = nearestName(name, known);
    refuse(`Table ${table.name} has no column ${name}.${nearest === undefined ? "" : ` Did you mean ${nearest}?`}`);
  }
}

/** Refuses impossible inputs and outputs, and a function with parameters that are not outputs. */
export function checkRow(
  table: ManifestTable,
  { inputs, outputs, handler, uploads = [] }: OverRow,
  refuse: Refuse,
): void {
  checkNames(table, [...inputs, ...outputs], refuse);
  for (const name of uploads) {
    if (!inputs.includes(name)) refuse(`Column ${name} takes a file, but is not an input of the route.`);
  }
  for (const { name, computed } of allColumns(table)) {
    if (computed !== null && inputs.includes(name)) refuse(`Column ${name} is computed and cannot be an input.`);
  }
  for (const name of handler?.parameters ?? []) {
    if (!outputs.includes(name)) refuse(`${handler?.id} takes ${name}, which is not an output of the route.`);
  }
}

/** Refuses a route that lacks a required column among `needed`. */
export function checkRequired(table: ManifestTable, route: OverRow, needed: ReadonlySet<string>, refuse: Refuse): void {
  for (const column of table.columns) {
    if (column.computed !== null || isOptional(column) || !needed.has(column.name)) continue;
    if (!route.inputs.includes(column.name))
      refuse(`Column ${column.name} is required, but not an input of the route.`);
  }
}

/** The columns that the outputs depend on, including the outputs. */
export function readBy(table: ManifestTable, outputs: readonly string[]): Set<string> {
  const read = new Set<string>();
  const visit = (name: string): void => {
    if (read.has(name)) return;
    read.add(name);
    const expr = allColumns(table).find((column) => column.name === name)?.computed?.expr;
    for (const next of expr === undefined ? [] : referencedColumns(expr)) visit(next);
  };
  for (const name of outputs) visit(name);
  return read;
}

/** A table for handlers that change its rows: the path of its routes and their columns. */
export function tableParts({ name, columns, primary_key: key, source }: ManifestTable) {
  // Vectors of an index are hidden.
  const shown = columns.filter((column) => column.is_hidden !== true);
  const route = { method: "post", path: `/${name}`, table: name, source } as const;
  const outputs = shown.map((column) => column.name);
  const answer = { outputs, on_error: "abort", handler: null } as const;
  return {
    place: route,
    answer,
    key,
    stored: shown.filter(({ computed }) => computed === null).map((column) => column.name),
  };
}

function compareRows(before: ManifestRoute, after: OverRow, manifests: Manifests, into: RouteChanges): void {
  if (!("outputs" in before)) return;
  if (before.table !== after.table) into.breaking.push(`it now uses table ${after.table}`);
  if (before.on_error !== after.on_error) {
    into.compatible.push(after.on_error === "ignore" ? "a failed cell becomes null" : "a failed cell refuses the row");
  }
  if ("key" in before && "key" in after) compareRequired("key column", before.key, after.key, into);
  const columns = manifests.after.tables.find((candidate) => candidate.name === after.table)?.columns ?? [];
  // All fields of an update are optional, except the key.
  const isOptionalNow = (name: string) =>
    "key" in after || columns.some((column) => column.name === name && isOptional(column));
  compareNames(withAnswer(before), withAnswer(after), isOptionalNow, into);
  compareAnswers(before, after, into);
  compareFileResponse(before, after, into);
  compareUploads(before.uploads ?? [], after.uploads ?? [], into);
  // A URL is a secret, so the text only says that it changed.
  if (JSON.stringify(before.export_sql ?? null) !== JSON.stringify(after.export_sql ?? null)) {
    into.compatible.push(
      after.export_sql == null ? "it no longer exports its rows" : `it exports its rows to ${after.export_sql.table}`,
    );
  }
}

/** If a function makes the response, clients do not see its parameters. */
function withAnswer({ inputs, outputs, handler }: OverRow) {
  return { inputs, outputs: handler === null ? outputs : [] };
}

function compareAnswers(before: OverRow, after: OverRow, { breaking, compatible }: RouteChanges): void {
  const [old, now] = [before.handler, after.handler];
  if ((old === null) !== (now === null)) {
    breaking.push(now === null ? "it returns its outputs" : `it returns the result of ${now.id}`);
  } else if (old !== null && now !== null) {
    if (JSON.stringify(old.response) !== JSON.stringify(now.response))
      breaking.push(`${now.id} returns something else`);
    else if (old.id !== now.id) compatible.push(`${now.id} makes the response`);
  }
}

/** Whether a request can store a row without a value for the column. */
function isOptional(column: ManifestTable["columns"][number]): boolean {
  return column.nullable || column.default != null;
}
