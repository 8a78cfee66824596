import type { SqlConnection } from "../ports.ts";
import { quoteTable } from "../sql/quote.ts";
import type { Catalog, CatalogTable } from "./catalog.ts";
import { type Facts, NO_FACTS } from "./facts.ts";
import { findMisfits } from "./inspect-rows.ts";
import type { Operation } from "./operations.ts";
import { type PlanInput, planSchema } from "./plan-schema.ts";

/** A plan with what the rows say of it, which a writer may change until it is applied. */
export async function planInspected(sql: SqlConnection, input: PlanInput): Promise<ReturnType<typeof planSchema>> {
  const planned = planSchema(input);
  const facts = await inspectRows(sql, input.catalog, planned.operations);
  return facts === NO_FACTS ? planned : planSchema({ ...input, facts });
}

/**
 * Asks the rows what a plan depends on: the values that a narrowed column could not keep, and how many rows stand in the
 * way of a column without a value. A plan that narrows nothing costs no query.
 */
export async function inspectRows(
  sql: SqlConnection,
  catalog: Catalog,
  operations: readonly Operation[],
): Promise<Facts> {
  const before = new Map(catalog.tables.map((table) => [table.id, table]));
  const rows = new Map<number, number>();
  for (const operation of operations) {
    if (operation.kind !== "add_column" || operation.severity !== "unsupported" || operation.to.primary_key) continue;
    const table = before.get(operation.table.id);
    if (table !== undefined && !rows.has(table.id)) rows.set(table.id, await countRows(sql, table));
  }
  const misfits = await findMisfits(sql, operations, before);
  return rows.size === 0 && misfits.size === 0 ? NO_FACTS : { ...NO_FACTS, rows, misfits };
}

/** The tables, as they are called now, whose values must not change while they are looked through. */
export function tablesToCheck(catalog: Catalog, operations: readonly Operation[]): readonly CatalogTable[] {
  const ids = new Set(
    operations.flatMap((one) => (one.kind === "alter_column" && one.checks.length > 0 ? [one.table.id] : [])),
  );
  return catalog.tables.filter((table) => ids.has(table.id));
}

async function countRows(sql: SqlConnection, table: CatalogTable): Promise<number> {
  const { rows } = await sql.query({ text: `select count(*) from ${quoteTable(table)}` });
  return Number(rows[0]?.[0]);
}
