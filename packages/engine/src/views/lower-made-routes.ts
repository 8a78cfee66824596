import type { Expr } from "@appdb/contract/expressions";
import type { ManifestComputeRoute, ManifestTable } from "@appdb/contract/manifest";
import { type MadeRowsAnswer, MEMBER } from "@appdb/contract/views";
import { viewColumnName } from "../catalog/sql-names.ts";
import { responseRows } from "../expressions/made-rows.ts";
import { mapParts } from "../expressions/tree.ts";
import { BOOL_TYPE, JSON_TYPE } from "../kinds/kinds.ts";
import type { DeclaredView } from "./lower-views.ts";

/** The lowered tables and views that routes are over. */
export interface LoweredTables {
  readonly tables: Map<string, ManifestTable>;
  readonly views: ReadonlyMap<string, DeclaredView>;
}

type Value = MadeRowsAnswer["values"][number];

/**
 * A compute route over an iterator view, or over a view of one, takes a row of the table at its root and gives the rows
 * that it makes. An unstored column of that table makes them, with the columns that the route reads alone: vectors of
 * indexes are not computed. Adds this column to the table.
 */
export function lowerMadeRoute(
  route: ManifestComputeRoute,
  view: DeclaredView,
  { tables, views }: LoweredTables,
): ManifestComputeRoute {
  // From the root to the view's rows.
  const levels = [...view.bases.map(({ table }) => table).reverse(), view.table].flatMap(
    (name) => tables.get(name) ?? [],
  );
  const [root, last] = [levels[0], levels.length - 1];
  const own = levels[last];
  if (root === undefined || own === undefined) return route;
  const values = new Map<string, Value>();
  const valueAt = (level: number, column: string): Value | undefined => {
    const found = levels[level]?.columns.find(({ name }) => name === column);
    if (found === undefined) return undefined;
    const value = { name: `${level}:${column}`, type: found.type, nullable: true, level, column };
    values.set(value.name, value);
    return value;
  };
  const shownValue = (name: string, { definition }: DeclaredView): Value | undefined => {
    const { column = name, up = 0 } = definition.columns.find((one) => one.name === name) ?? {};
    return valueAt(last - up, column);
  };
  // A view over an iterator view reads the columns of its table; the iterator view itself, those that it shows.
  const ownView = views.get(own.name) ?? view;
  const overValues = (expr: Expr): Expr => {
    const read = mapParts(expr, overValues);
    // A row with a failed cell has no response.
    if (read.node === "cell_error") return { node: "literal", value: null, type: read.type, nullable: true };
    if (read.node !== "column") return read;
    const value = valueAt(last, read.name) ?? shownValue(read.name, ownView);
    return value === undefined ? read : { ...read, name: value.name };
  };
  const computed = new Map<string, MadeRowsAnswer["computed"][number]>();
  const outputOf = (name: string): MadeRowsAnswer["outputs"] => {
    const column = view === ownView ? name : view.definition.columns.find((one) => one.name === name)?.column;
    const unstored = own.unstored?.find((one) => one.name === column);
    if (unstored?.computed == null) {
      const value = shownValue(name, view);
      return value === undefined ? [] : [{ name, type: value.type, nullable: true, value: value.name }];
    }
    const { type, computed: made } = unstored;
    computed.set(unstored.name, { name: unstored.name, type, nullable: true, expr: overValues(made.expr) });
    return [{ name, type, nullable: true, value: unstored.name }];
  };
  const outputs = route.outputs.flatMap(outputOf);
  const { member } = view.definition;
  if (member !== null) {
    computed.set(MEMBER, { name: MEMBER, type: BOOL_TYPE, nullable: true, expr: overValues(member) });
  }
  const makers = levels.slice(1).map((table) => table.rows_of?.column ?? "");
  const needed = levels.slice(1).map((_table, at) => {
    const read = [...values.values()].flatMap(({ level, column }) => (level === at + 1 ? [column] : []));
    return new Set([...read, ...makers.slice(at + 1, at + 2)]);
  });
  const maker = root.columns.find(({ name }) => name === makers[0]);
  if (maker?.computed == null || outputs.length < route.outputs.length) return route;
  const column = addUnstored(tables, root, view, {
    text: maker.computed.text,
    expr: responseRows(maker.computed.expr, needed),
  });
  const above = [...values.values()].flatMap(({ level, column: name }) => (level === 0 ? [name] : []));
  const made = {
    column,
    table: own.name,
    deeper: makers.slice(1),
    values: [...values.values()],
    computed: [...computed.values()],
    outputs,
  };
  return {
    ...route,
    table: root.name,
    outputs: [column, ...above],
    of_view: { name: view.name, member: null, names: {}, made },
  };
}

/** Adds the column that makes rows for a route, or finds an equal one. Returns its name. */
function addUnstored(
  tables: Map<string, ManifestTable>,
  root: ManifestTable,
  { name: view, source }: DeclaredView,
  computed: { readonly text: string; readonly expr: Expr },
): string {
  const { unstored = [] } = root;
  const text = JSON.stringify(computed);
  const same = unstored.find((one) => JSON.stringify(one.computed) === text);
  if (same !== undefined) return same.name;
  const name = viewColumnName(view, `(rows ${unstored.length + 1})`);
  const column = {
    name,
    type: JSON_TYPE,
    nullable: true,
    primary_key: false,
    computed,
    comment: null,
    custom_metadata: null,
    renamed_from: null,
    is_hidden: true,
    source,
  };
  tables.set(root.name, { ...root, unstored: [...unstored, column] });
  return name;
}
