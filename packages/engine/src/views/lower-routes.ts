import { isComputeRoute, type ManifestColumn, type ManifestRoute, type ManifestTable } from "@appdb/contract/manifest";
import { viewColumnName } from "../catalog/sql-names.ts";
import { BOOL_TYPE } from "../kinds/kinds.ts";
import { type LoweredTables, lowerMadeRoute } from "./lower-made-routes.ts";
import type { DeclaredView } from "./lower-views.ts";

/** Compute routes over views, as routes over their tables. */

/** The table with an unstored column that says whether a row is one of a view, for routes that compute rows. */
export function withMember(table: ManifestTable, view: DeclaredView): ManifestTable {
  const { member } = view.definition;
  const name = viewColumnName(view.name, null);
  if (member === null || table.columns.some((column) => column.name === name)) return table;
  const column: ManifestColumn = {
    name,
    type: BOOL_TYPE,
    nullable: true,
    primary_key: false,
    computed: { text: view.definition.filter ?? "", expr: member },
    comment: null,
    custom_metadata: null,
    renamed_from: null,
    is_hidden: true,
    source: view.source,
  };
  return { ...table, unstored: [...(table.unstored ?? []), column] };
}

/** A compute route over a view computes a row of the view's table. Other routes over views are refused when checked. */
export function lowerRoute(route: ManifestRoute, { tables, views }: LoweredTables): ManifestRoute {
  const view = isComputeRoute(route) ? views.get(route.table) : undefined;
  if (view === undefined || !isComputeRoute(route) || route.handler !== null) return route;
  if (view.bases.length > 0) return lowerMadeRoute(route, view, { tables, views });
  const places = new Map(view.definition.columns.map(({ name, column }) => [name, column]));
  const outputs = route.outputs.map((name) => places.get(name) ?? name);
  return {
    ...route,
    table: view.table,
    outputs,
    of_view: {
      name: view.name,
      member: view.definition.member === null ? null : viewColumnName(view.name, null),
      names: Object.fromEntries(outputs.map((column, at) => [column, route.outputs[at] ?? column])),
    },
  };
}
