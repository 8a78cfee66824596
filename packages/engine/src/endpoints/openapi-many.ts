import type { ManifestRoute } from "@appdb/contract/manifest";
import type { Json } from "../kinds/kind.ts";
import { LINES_TYPES } from "./insert-many.ts";

type Content = { readonly [type: string]: Json };

/** Whether a route takes many rows at once: a function makes the answer to one row, and one row is exported. */
export function takesMany(route: ManifestRoute): boolean {
  return route.kind === "insert" && route.handler === null && (route.export_sql ?? null) === null;
}

/**
 * What an insert route takes: a row, an array of rows, or lines of them. The types of lines are told in words: there are
 * generators that know JSON alone, and warn of every other type of a body.
 */
export function describeRowsBody(row: Json): Content {
  return {
    required: true,
    description: `A row, or an array of rows. With the content type ${LINES_TYPES[0]}: one JSON object a line, each a row, as many as there are. They are stored all together or not at all.`,
    content: { "application/json": { schema: { oneOf: [row, { type: "array", items: row }] } } },
  };
}

/** What it answers: to a row its outputs, to an array an array, to lines lines; or the number of rows, when that is all that is wanted. */
export function describeRowsAnswer(row: Json, count: Json): Content {
  return {
    "application/json": { schema: { oneOf: [row, { type: "array", items: row }, count] } },
    [LINES_TYPES[0] ?? ""]: {
      schema: { type: "string", description: "The answer to lines: one JSON object a line, in the order of the rows" },
    },
  };
}
