import type { Expr } from "@appdb/contract/expressions";
import { referencedColumns } from "../expressions/needs-python.ts";
import { BOOL_TYPE } from "../kinds/kinds.ts";
import type { CatalogTable, CatalogView } from "./catalog.ts";

const NO_ROWS: Expr = { node: "literal", value: false, type: BOOL_TYPE, nullable: false };

/**
 * The condition of a view's rows, for reads. A fill that failed has dropped the column of the condition: the view then
 * has no rows until an update makes the column.
 */
export function readableMember(
  { definition: { member } }: Pick<CatalogView, "definition">,
  { columns }: CatalogTable,
): Expr | null {
  if (member === null) return null;
  const stored = new Set(columns.map(({ name }) => name));
  return referencedColumns(member).every((name) => stored.has(name)) ? member : NO_ROWS;
}
