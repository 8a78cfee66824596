import type {
  Manifest,
  ManifestRoute,
  ManifestRowRoute,
  ManifestTable,
  ManifestUpdateRoute,
} from "@appdb/contract/manifest";
import { nearestName } from "@appdb/contract/nearest";
import { referencedColumns } from "../expressions/needs-python.ts";
import { compareNames, compareRequired, type RouteChanges } from "./route-changes.ts";
import type { Manifests, Refuse, RouteKind } from "./route-kind.ts";

/** A route that takes values of a row and answers values of it. */
export type OverRow = ManifestRowRoute | ManifestUpdateRoute;

/** What the kinds of routes over a row have in common. */
export const OVER_ROW = {
  isHandler: false,
  computesColumns: true,
  compare: compareRows,
} as const satisfies Partial<RouteKind<OverRow>>;

/** What people are shown of a route over a table. */
export function describeOverTable(table: string, inputs: readonly string[], outputs: readonly string[]) {
  return { table, query: null, one_row: false, inputs: [...inputs], outputs: [...outputs] };
}

/** The table of a route; refuses where there is none. */
export function checkedTable(manifest: Manifest, name: string, refuse: Refuse): ManifestTable {
  return manifest.tables.find((candidate) => candidate.name === name) ?? refuse(`There is no table ${name}.`);
}

/** Refuses columns that the table lacks. */
export function checkNames(table: ManifestTable, names: readonly string[], refuse: Refuse): void {
  const known = table.columns.map((column) => column.name);
  for (const name of names) {
    if (known.includes(name)) continue;
    const nearest = nearestName(name, known);
    refuse(`Table ${table.name} has no column ${name}.${nearest === undefined ? "" : ` Did you mean ${nearest}?`}`);
  }
}

/** Refuses inputs and outputs that cannot be, and a function that takes anything but outputs. */
export function checkRow(table: ManifestTable, { inputs, outputs, handler }: OverRow, refuse: Refuse): void {
  checkNames(table, [...inputs, ...outputs], refuse);
  for (const { name, computed } of table.columns) {
    if (computed !== null && inputs.includes(name)) refuse(`Column ${name} is computed and cannot be an input.`);
  }
  for (const name of handler?.parameters ?? []) {
    if (!outputs.includes(name)) refuse(`${handler?.id} takes ${name}, which is not an output of the route.`);
  }
}

/** Refuses a route that lacks a required column of those that are needed. */
export function checkRequired(table: ManifestTable, route: OverRow, needed: ReadonlySet<string>, refuse: Refuse): void {
  for (const column of table.columns) {
    if (column.computed !== null || isOptional(column) || !needed.has(column.name)) continue;
    if (!route.inputs.includes(column.name)) refuse(`Column ${column.name} is required, but no input of the route.`);
  }
}

/** The columns that the outputs hang on, the outputs included. */
export function readBy(table: ManifestTable, outputs: readonly string[]): Set<string> {
  const read = new Set<string>();
  const visit = (name: string): void => {
    if (read.has(name)) return;
    read.add(name);
    const expr = table.columns.find((column) => column.name === name)?.computed?.expr;
    for (const next of expr === undefined ? [] : referencedColumns(expr)) visit(next);
  };
  for (const name of outputs) visit(name);
  return read;
}

/** A table as handlers change its rows: where its routes are, and which columns they take and answer. */
export function tableParts({ name, columns, primary_key: key, source }: ManifestTable) {
  // the vectors of an index are nobody's to read
  const shown = columns.filter((column) => column.is_hidden !== true);
  const place = { method: "post", path: `/${name}`, table: name, source } as const;
  const outputs = shown.map((column) => column.name);
  const answer = { outputs, on_error: "abort", handler: null } as const;
  return { place, answer, key, stored: shown.filter(({ computed }) => computed === null).map((column) => column.name) };
}

function compareRows(before: ManifestRoute, after: OverRow, manifests: Manifests, into: RouteChanges): void {
  if (!("outputs" in before)) return;
  if (before.table !== after.table) into.breaking.push(`it works on ${after.table}`);
  if (before.on_error !== after.on_error) {
    into.harmless.push(after.on_error === "ignore" ? "a failing cell becomes null" : "a failing cell refuses the row");
  }
  if ("key" in before && "key" in after) compareRequired("key column", before.key, after.key, into);
  const columns = manifests.after.tables.find((candidate) => candidate.name === after.table)?.columns ?? [];
  // The fields of an update may all be left out, short of the key.
  const isOptionalNow = (name: string) =>
    "key" in after || columns.some((column) => column.name === name && isOptional(column));
  compareNames(withAnswer(before), withAnswer(after), isOptionalNow, into);
  compareAnswers(before, after, into);
  // A URL is a secret: that it changed is all that is told.
  if (JSON.stringify(before.export_sql ?? null) !== JSON.stringify(after.export_sql ?? null)) {
    into.harmless.push(
      after.export_sql == null ? "it exports its rows no longer" : `it exports its rows to ${after.export_sql.table}`,
    );
  }
}

/** Where a function makes the answer, its parameters are nothing that a client sees. */
function withAnswer({ inputs, outputs, handler }: OverRow) {
  return { inputs, outputs: handler === null ? outputs : [] };
}

function compareAnswers(before: OverRow, after: OverRow, { breaking, harmless }: RouteChanges): void {
  const [old, now] = [before.handler, after.handler];
  if ((old === null) !== (now === null)) {
    breaking.push(now === null ? "it answers its outputs" : `it answers what ${now.id} returns`);
  } else if (old !== null && now !== null) {
    if (JSON.stringify(old.response) !== JSON.stringify(now.response))
      breaking.push(`${now.id} returns something else`);
    else if (old.id !== now.id) harmless.push(`${now.id} makes the answer`);
  }
}

/** Whether a request may store a row without a value for the column. */
function isOptional(column: ManifestTable["columns"][number]): boolean {
  return column.nullable || column.default != null;
}
