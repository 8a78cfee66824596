import { parseTablePath } from "@appdb/contract/names";
import type { Catalog } from "../catalog/catalog.ts";
import { udfsOf } from "../expressions/needs-python.ts";
import type { SqlConnection } from "../ports.ts";
import { columnChanges } from "../schema/diff-table.ts";
import { folderSchema } from "../target.ts";
import type { ChangeRequest } from "./change-table.ts";
import { openJobsOf } from "./earlier-jobs.ts";
import { withoutOrigin } from "./edit-declaration.ts";
import { declarationOf, findStored } from "./read-declaration.ts";

/**
 * The request as it is made. One that adds the very columns that an earlier one adds, whose jobs still compute them,
 * ignores that they exist: it waits for these jobs. Call it in the transaction of the plan.
 */
export async function asRepeated(sql: SqlConnection, request: ChangeRequest, catalog: Catalog): Promise<ChangeRequest> {
  const { change } = request;
  if (change.change !== "add_columns" || change.if_exists !== "error") return request;
  const again: ChangeRequest = { ...request, change: { ...change, if_exists: "ignore" } };
  if (!declaresSame(request, catalog)) return request;
  return (await openJobsOf(sql, again, catalog)).length === 0 ? request : again;
}

/** Whether a table has all columns of a request, with the same definitions and the same code of functions. */
function declaresSame({ change, database, functions }: ChangeRequest, catalog: Catalog): boolean {
  if (change.change !== "add_columns") return false;
  const { table, target } = parseTablePath(`${database}/${change.table}`);
  const stored = findStored(catalog, folderSchema(target.text), table);
  if (stored === undefined) return false;
  const columns = new Map(declarationOf(catalog, stored).columns.map((column) => [column.name, column]));
  const digests = new Map(functions.map(({ digest, id }) => [id, digest]));
  const isSameCode = (id: string): boolean => {
    const digest = digests.get(id);
    return digest === undefined || digest === catalog.functions.get(id)?.digest;
  };
  return change.columns.every((column) => {
    const before = columns.get(column.name);
    if (before === undefined) return false;
    // whether a computed value can be null follows from its expression, and from the condition of its view
    const derived = column.computed !== null;
    const changes = columnChanges(before, withoutOrigin(column));
    if (changes.some((one) => !(derived && one === "nullability"))) return false;
    return column.computed === null || udfsOf(column.computed.expr).every(isSameCode);
  });
}
