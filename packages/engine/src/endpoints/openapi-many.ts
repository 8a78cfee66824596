import type { ManifestRoute } from "@appdb/contract/manifest";
import { LINES_TYPES } from "./insert-many.ts";
import type { Json } from "./openapi-schemas.ts";

type Content = { readonly [type: string]: Json };

/** Whether a route takes many rows at once: a function that makes the answer to a row makes none to many. */
export function takesMany(route: ManifestRoute): boolean {
  return route.kind === "insert" && route.handler === null;
}

/** What an insert route takes: a row, an array of rows, or lines of them. */
export function describeRowsBody(row: Json): Content {
  const lines: Json = {
    schema: { type: "string", description: "One JSON object a line, each a row; stored all together or not at all" },
  };
  return {
    "application/json": { schema: { oneOf: [row, { type: "array", items: row }] } },
    ...Object.fromEntries(LINES_TYPES.map((type) => [type, lines])),
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
