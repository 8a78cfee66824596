import type { ManifestComputeRoute } from "@appdb/contract/manifest";
import { BODY, DATABASE, PYTHON } from "../openapi/errors.ts";
import { objectSchema } from "../openapi/schemas.ts";
import { checkedTable, checkRequired, checkRow, describeOverTable, OVER_ROW, readBy } from "./over-row.ts";
import type { RouteKind } from "./route-kind.ts";
import { describeRowRoute, requiredBody, subjectOf, tableOf } from "./row-openapi.ts";
import { compileRowRoute } from "./row-routes.ts";

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
