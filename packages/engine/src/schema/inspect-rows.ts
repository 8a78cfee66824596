import type { CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import type { SchemaOperation } from "../catalog/operations.ts";
import { shownRowKey, shownValue } from "../catalog/shown-values.ts";
import { type Check, VALUE } from "../kinds/type-change.ts";
import type { SqlConnection } from "../ports.ts";
import { quoteIdent, quoteTable } from "../sql/quote.ts";
import { keyColumns } from "../views/row-keys.ts";
import { factKey, type NarrowingViolation } from "./facts.ts";
import { findUnfitJson, MAX_EXAMPLES } from "./inspect-json.ts";

/**
 * Checks the columns that a plan would narrow. Returns mismatching values by `factKey`; a column without any is absent.
 * Reads tables under their current names in PostgreSQL (`before`). `since`: rows from before this transaction id have
 * already been checked against their new schema.
 */
export async function findMisfits(
  sql: SqlConnection,
  operations: readonly SchemaOperation[],
  before: ReadonlyMap<number, CatalogTable>,
  since: string | null,
): Promise<ReadonlyMap<string, readonly NarrowingViolation[]>> {
  const found = new Map<string, readonly NarrowingViolation[]>();
  for (const operation of operations) {
    if (operation.kind !== "alter_column" || !isChecked(operation)) continue;
    const table = before.get(operation.table.id) ?? operation.table;
    const column = table.columns.find((candidate) => candidate.id === operation.column.id) ?? operation.column;
    const misfits: NarrowingViolation[] = [];
    for (const check of operation.checks) {
      const misfit = await findMisfit(sql, table, column, check);
      if (misfit !== undefined) misfits.push(misfit);
    }
    if (operation.schema !== null) {
      const misfit = await findUnfitJson(sql, { table, column, schema: operation.schema, since });
      if (misfit !== undefined) misfits.push(misfit);
    }
    if (misfits.length > 0) found.set(factKey(table, operation.to.name), misfits);
  }
  return found;
}

/** True when an operation depends on existing values. */
export function isChecked(operation: SchemaOperation): boolean {
  return operation.kind === "alter_column" && (operation.checks.length > 0 || operation.schema !== null);
}

async function findMisfit(
  sql: SqlConnection,
  table: CatalogTable,
  column: CatalogColumn,
  check: Check,
): Promise<NarrowingViolation | undefined> {
  const condition = check.misfit.replaceAll(VALUE, () => quoteIdent(column.name));
  const key = keyColumns(table);
  const counted = await sql.query({ text: `select count(*) from ${quoteTable(table)} where ${condition}` });
  const rows = Number(counted.rows[0]?.[0]);
  if (rows === 0) return undefined;
  const names = [...key.map((part) => part.name), column.name];
  const examples = await sql.query({
    text: `select ${names.map(quoteIdent).join(", ")} from ${quoteTable(table)} where ${condition}
      order by ${quoteIdent(table.identity)} limit ${MAX_EXAMPLES}`,
  });
  return {
    reason: check.reason,
    rows,
    examples: examples.rows.map((values) => ({
      key: shownRowKey(key, values),
      value: shownValue(column, values[key.length] ?? null),
    })),
  };
}
