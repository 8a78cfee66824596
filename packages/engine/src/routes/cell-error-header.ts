import { JSON_HEADERS } from "../answers/answers.ts";
import { indexHeldIn } from "../catalog/hidden-columns.ts";
import type { CellErrors } from "../compute/cell-errors.ts";
import type { Row, RowLayout } from "../compute/row-layout.ts";

/** Names the header that says which cells of a stored row have no value because their function failed. */
export const CELL_ERRORS_HEADER = "x-cell-errors";

/**
 * Headers of an answer to a row that may have been stored with failing cells. The body has exactly the route's outputs; a
 * list of RFC 8941 in a header names the columns that failed: `fare;type="ZeroDivisionError", tax;type="CellError"`.
 */
export function cellErrorHeaders(layout: RowLayout): (row: Row) => Readonly<Record<string, string>> {
  return (row) => {
    const text = row[layout.errors];
    if (typeof text !== "string") return JSON_HEADERS;
    const items = Object.entries(JSON.parse(text) as CellErrors).map(
      ([name, { type }]) => `${failedItem(layout, name)};type=${quoted(type)}`,
    );
    return { ...JSON_HEADERS, [CELL_ERRORS_HEADER]: items.join(", ") };
  };
}

/** How the header names what failed: the column, or the one that an embedding index is over, `text;embedding_index="by_words"`. */
export function failedItem({ table }: RowLayout, column: string): string {
  const index = indexHeldIn(table, column);
  if (index === undefined) return column;
  return `${index.columns[0]};embedding_index${index.name === null ? "" : `=${quoted(index.name)}`}`;
}

/** A string of a header holds printable ASCII; Python lets class names have more. */
function quoted(text: string): string {
  return `"${text.replace(/[^ -~]/g, "?").replace(/["\\]/g, "\\$&")}"`;
}
