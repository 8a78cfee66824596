import { JSON_HEADERS } from "../answers/answers.ts";
import { indexOfHiddenColumn } from "../catalog/hidden-columns.ts";
import { viewOfRows } from "../catalog/sql-names.ts";
import type { CellErrors } from "../compute/cell-errors.ts";
import type { Row, RowLayout } from "../compute/row-layout.ts";

/** Names the header that lists the cells of a stored row whose function failed. */
export const CELL_ERRORS_HEADER = "x-cell-errors";

/**
 * Response headers for a row that was stored with failed cells. The body has exactly the route's outputs. A list of RFC
 * 8941 in a header names the failed columns: `fare;type="ZeroDivisionError", tax;type="CellError"`.
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

/** The header item of a failed column, or of the column under an embedding index: `text;embedding_index="by_words"`. */
export function failedItem({ table }: RowLayout, column: string): string {
  const index = indexOfHiddenColumn(table, column);
  if (index === undefined) return token(viewOfRows(column) ?? column);
  return `${token(index.columns[0] ?? "")};embedding_index${index.name === null ? "" : `=${quoted(index.name)}`}`;
}

/** A name in a list of RFC 8941: a token, or a string where the name has other signs. */
function token(name: string): string {
  return /^[A-Za-z*][\w!#$%&'*+.^`|~:/-]*$/.test(name) ? name : quoted(name);
}

/** A header string holds printable ASCII; Python class names can have other characters. */
function quoted(text: string): string {
  return `"${text.replace(/[^ -~]/g, "?").replace(/["\\]/g, "\\$&")}"`;
}
