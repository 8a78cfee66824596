import type { Manifest, ManifestComputeRoute, ManifestTable } from "@appdb/contract/manifest";
import { BODY, DATABASE, PYTHON } from "../openapi/errors.ts";
import { objectSchema } from "../openapi/schemas.ts";
import { checkedTable, checkRequired, checkRow, describeOverTable, OVER_ROW, readBy, tableParts } from "./over-row.ts";
import type { RouteKind } from "./route-kind.ts";
import { describeRowRoute, requiredBody, subjectOf, tableOf } from "./row-openapi.ts";
import { compileRowRoute } from "./row-routes.ts";

/**
 * A route by which people compute rows of a table or view of a manifest, also many in one request. A row has columns of
 * the table below all views.
 */
export function computeOver(manifest: Manifest, name: string, outputs: readonly string[]): ManifestComputeRoute {
  const root = rootOf(manifest.tables, name);
  const { place, stored } = tableParts(root);
  return {
    kind: "compute",
    inputs: stored,
    ...place,
    path: `/${name}`,
    table: name,
    outputs: [...outputs],
    on_error: "abort",
    handler: null,
    many_rows: true,
  };
}

function rootOf(tables: Manifest["tables"], name: string): ManifestTable {
  const table = tables.find((candidate) => candidate.name === name);
  if (table === undefined) throw new TypeError(`The manifest has no table ${name}.`);
  return table.view === undefined ? table : rootOf(tables, table.view.base);
}

/** Takes a row and returns values of it. Stores nothing. */
export const computeKind: RouteKind<ManifestComputeRoute> = {
  ...OVER_ROW,
  changesRows: false,
  title: "a compute",
  check(route, manifest, refuse) {
    const table = checkedTable(manifest, route.table, refuse);
    checkRow(table, route, refuse);
    checkRequired(table, route, readBy(table, route.outputs), refuse);
  },
  compile: compileRowRoute,
  describe: ({ table, inputs, outputs }) => describeOverTable(table, inputs, outputs),
  openapi(route, input) {
    const made = route.of_view?.made;
    const row = objectSchema(tableOf(input.manifest, route.table).columns, route.inputs, "input");
    return describeRowRoute(route, input, {
      summary:
        made === undefined
          ? `Compute the columns of a row of ${subjectOf(input.manifest, route).name}, storing nothing`
          : `Compute the rows of ${route.of_view?.name} that a row of ${route.table} makes, storing nothing`,
      done: made === undefined ? "The values." : "The rows, in their order.",
      row,
      body: requiredBody(row),
      errors: [...BODY, ...PYTHON, ...DATABASE],
      isStored: false,
    });
  },
  overTable: () => undefined,
};
