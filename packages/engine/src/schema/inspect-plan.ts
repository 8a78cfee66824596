import type { Catalog, CatalogTable } from "../catalog/catalog.ts";
import type { SchemaOperation } from "../catalog/operations.ts";
import type { SqlConnection } from "../ports.ts";
import { quoteTable } from "../sql/quote.ts";
import { NO_FACTS, type PlanFacts } from "./facts.ts";
import { findMisfits, isChecked } from "./inspect-rows.ts";
import { planSchema, type SchemaPlanInput } from "./plan-schema.ts";

/** A plan with the facts of the rows. Writers may change these until the plan is applied. */
export async function planInspected(
  sql: SqlConnection,
  input: SchemaPlanInput,
  since: string | null = null,
): Promise<ReturnType<typeof planSchema>> {
  const planned = planSchema(input);
  const facts = await inspectRows(sql, input.catalog, planned.operations, since);
  return facts === NO_FACTS ? planned : planSchema({ ...input, facts });
}

/**
 * Queries the facts that a plan depends on: values that a narrowed column could not keep, and row counts that prevent a
 * column without a value. A plan that narrows nothing costs no query.
 */
export async function inspectRows(
  sql: SqlConnection,
  catalog: Catalog,
  operations: readonly SchemaOperation[],
  since: string | null,
): Promise<PlanFacts> {
  const before = new Map(catalog.tables.map((table) => [table.id, table]));
  const rows = new Map<number, number>();
  for (const operation of operations) {
    if (operation.kind !== "add_column" || operation.severity !== "unsupported" || operation.to.primary_key) continue;
    const table = before.get(operation.table.id);
    if (table !== undefined && !rows.has(table.id)) rows.set(table.id, await countRows(sql, table));
  }
  const misfits = await findMisfits(sql, operations, before, since);
  return rows.size === 0 && misfits.size === 0 ? NO_FACTS : { ...NO_FACTS, rows, misfits };
}

/**
 * Checks values that must all be read, before any lock. Returns the transaction id from which rows must be checked
 * again; null means all rows.
 */
export async function inspectAhead(sql: SqlConnection, input: SchemaPlanInput): Promise<string | null> {
  const { operations } = planSchema(input);
  const slow = operations.filter((operation) => operation.kind === "alter_column" && operation.schema !== null);
  if (slow.length === 0) return null;
  const { rows } = await sql.query({ text: "select pg_snapshot_xmin(pg_current_snapshot())::xid" });
  const before = new Map(input.catalog.tables.map((table) => [table.id, table]));
  const misfits = await findMisfits(sql, slow, before, null);
  return misfits.size === 0 ? (rows[0]?.[0] ?? null) : null;
}

/** The tables, with their current names, whose values must not change during the check. */
export function tablesToCheck(catalog: Catalog, operations: readonly SchemaOperation[]): readonly CatalogTable[] {
  const ids = new Set(
    operations.flatMap((operation) =>
      operation.kind !== "create_table" && isChecked(operation) ? [operation.table.id] : [],
    ),
  );
  return catalog.tables.filter((table) => ids.has(table.id));
}

async function countRows(sql: SqlConnection, table: CatalogTable): Promise<number> {
  const { rows } = await sql.query({ text: `select count(*) from ${quoteTable(table)}` });
  return Number(rows[0]?.[0]);
}
