import type { ManifestInsertRoute } from "@appdb/contract/manifest";
import type { Json, JsonObject } from "../kinds/kind.ts";
import { BODY, PYTHON, WRITE } from "../openapi/errors.ts";
import { objectSchema } from "../openapi/schemas.ts";
import { LINES_TYPES, takesMany } from "./insert-many.ts";
import { checkedTable, checkRequired, checkRow, describeOverTable, OVER_ROW, tableParts } from "./over-row.ts";
import type { RouteKind } from "./route-kind.ts";
import { COUNT, describeRowRoute, requiredBody, tableOf } from "./row-openapi.ts";
import { compileRowRoute } from "./row-routes.ts";

/** Takes a row, stores it, and answers values of it; many rows where one request has them. */
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
      body: takesMany(route) ? describeRowsBody(row) : requiredBody(row),
      ...(takesMany(route) ? { content: describeRowsAnswer } : {}),
      errors: [...BODY, ...WRITE, ...PYTHON, "request_timeout", "unique_violation", "disk_full"],
      isStored: true,
    });
  },
  overTable(table) {
    const { place, answer, stored } = tableParts(table);
    return { kind: "insert", inputs: stored, ...place, ...answer };
  },
};

/**
 * What an insert route takes: a row, an array of rows, or lines of them. The types of lines are told in words: there are
 * generators that know JSON alone, and warn of every other type of a body.
 */
function describeRowsBody(row: Json): JsonObject {
  return {
    required: true,
    description: `A row, or an array of rows. With the content type ${LINES_TYPES[0]}: one JSON object a line, each a row, as many as there are. They are stored all together or not at all.`,
    content: { "application/json": { schema: { oneOf: [row, { type: "array", items: row }] } } },
  };
}

/** What it answers: to a row its outputs, to an array an array, to lines lines; or the number of rows, when that is all that is wanted. */
function describeRowsAnswer(row: Json): JsonObject {
  return {
    "application/json": { schema: { oneOf: [row, { type: "array", items: row }, COUNT] } },
    [LINES_TYPES[0] ?? ""]: {
      schema: { type: "string", description: "The answer to lines: one JSON object a line, in the order of the rows" },
    },
  };
}
