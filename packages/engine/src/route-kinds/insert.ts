import type { ManifestInsertRoute } from "@appdb/contract/manifest";
import type { Json, JsonObject } from "../kinds/kind.ts";
import { BODY, PYTHON, WRITE } from "../openapi/errors.ts";
import { objectSchema } from "../openapi/schemas.ts";
import { acceptsManyRows, LINES_TYPES } from "./insert-many.ts";
import { checkedTable, checkRequired, checkRow, describeOverTable, OVER_ROW, tableParts } from "./over-row.ts";
import type { RouteKind } from "./route-kind.ts";
import { COUNT, describeRowRoute, requiredBody, tableOf } from "./row-openapi.ts";
import { compileRowRoute } from "./row-routes.ts";

/** Takes a row, stores it, and returns values of it. Also takes many rows in one request. */
export const insertKind: RouteKind<ManifestInsertRoute> = {
  ...OVER_ROW,
  title: "an insert",
  check(route, manifest, refuse) {
    const table = checkedTable(manifest, route.table, refuse);
    checkRow(table, route, refuse);
    checkRequired(table, route, new Set(table.columns.map(({ name }) => name)), refuse);
  },
  compile: compileRowRoute,
  describe: ({ table, inputs, outputs }) => describeOverTable(table, inputs, outputs),
  openapi(route, input) {
    const row = objectSchema(tableOf(input.manifest, route.table).columns, route.inputs, "input");
    return describeRowRoute(route, input, {
      summary: `Insert a row into ${route.table}`,
      done: "The row was stored.",
      row,
      body: acceptsManyRows(route) ? describeRowsBody(row) : requiredBody(row),
      ...(acceptsManyRows(route) ? { content: describeRowsAnswer } : {}),
      errors: [...BODY, ...WRITE, ...PYTHON, "request_timeout", "unique_violation", "disk_full"],
      isStored: true,
    });
  },
  overTable(table) {
    const { place: route, answer, stored } = tableParts(table);
    return { kind: "insert", inputs: stored, ...route, ...answer };
  },
};

/**
 * The request body of an insert route: a row, an array of rows, or lines of rows. The description text lists the
 * content types of lines. Some generators only support JSON and warn about every other type of a body.
 */
function describeRowsBody(row: Json): JsonObject {
  return {
    required: true,
    description: `A row, or an array of rows. With the content type ${LINES_TYPES[0]}: one JSON object per line, each a row, without a limit on their number. All rows are stored, or none.`,
    content: { "application/json": { schema: { oneOf: [row, { type: "array", items: row }] } } },
  };
}

/** Its response: outputs for a row, an array for an array, lines for lines. With return=minimal, the number of rows. */
function describeRowsAnswer(row: Json): JsonObject {
  return {
    "application/json": { schema: { oneOf: [row, { type: "array", items: row }, COUNT] } },
    [LINES_TYPES[0] ?? ""]: {
      schema: {
        type: "string",
        description: "The response to lines: one JSON object per line, in the order of the rows",
      },
    },
  };
}
