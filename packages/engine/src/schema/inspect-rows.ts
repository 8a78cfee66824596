import type { SqlConnection } from "../ports.ts";
import { valueToJson } from "../rows/value-json.ts";
import { fromSqlText } from "../rows/value-sql.ts";
import { quoteIdent, quoteTable } from "../sql/quote.ts";
import type { CatalogColumn, CatalogTable } from "./catalog.ts";
import { factKey, type Misfit } from "./facts.ts";
import type { Operation } from "./operations.ts";
import { type Check, VALUE } from "./type-change.ts";

/** Values that a plan shows of those that do not fit. */
const EXAMPLES = 5;
/** Characters that a plan shows of a long value. */
const SHOWN = 120;

/**
 * Looks through the columns that a plan would narrow, and gives the values that would not fit, by `factKey`; a column
 * whose values all fit is not in it. Reads the tables under the names that PostgreSQL knows by now: `before` says them.
 */
export async function findMisfits(
  sql: SqlConnection,
  operations: readonly Operation[],
  before: ReadonlyMap<number, CatalogTable>,
): Promise<ReadonlyMap<string, readonly Misfit[]>> {
  const found = new Map<string, readonly Misfit[]>();
  for (const operation of operations) {
    if (operation.kind !== "alter_column" || operation.checks.length === 0) continue;
    const table = before.get(operation.table.id) ?? operation.table;
    const column = table.columns.find((candidate) => candidate.id === operation.column.id) ?? operation.column;
    const misfits: Misfit[] = [];
    for (const check of operation.checks) {
      const misfit = await findMisfit(sql, table, column, check);
      if (misfit !== undefined) misfits.push(misfit);
    }
    if (misfits.length > 0) found.set(factKey(table, operation.to.name), misfits);
  }
  return found;
}

async function findMisfit(
  sql: SqlConnection,
  table: CatalogTable,
  column: CatalogColumn,
  check: Check,
): Promise<Misfit | undefined> {
  const condition = check.misfit.replaceAll(VALUE, () => quoteIdent(column.name));
  const key = keyColumns(table);
  const counted = await sql.query({ text: `select count(*) from ${quoteTable(table)} where ${condition}` });
  const rows = Number(counted.rows[0]?.[0]);
  if (rows === 0) return undefined;
  const names = [...key.map((part) => part.name), column.name];
  const examples = await sql.query({
    text: `select ${names.map(quoteIdent).join(", ")} from ${quoteTable(table)} where ${condition}
      order by ${quoteIdent(table.identity)} limit ${EXAMPLES}`,
  });
  return {
    reason: check.reason,
    rows,
    examples: examples.rows.map((values) => ({
      key: keyOf(key, values),
      value: shownValue(column, values[key.length] ?? null),
    })),
  };
}

/** What a person finds a row by: the declared key, else the row's identity. */
export function keyColumns(table: CatalogTable): readonly Pick<CatalogColumn, "name" | "type">[] {
  const declared = table.columns.filter((column) => table.primary_key.includes(column.name));
  return declared.length > 0 ? declared : [{ name: table.identity, type: { kind: "uuid" } }];
}

/** The key of a row, from the first values of it. */
export function keyOf(
  key: readonly Pick<CatalogColumn, "name" | "type">[],
  values: readonly (string | null)[],
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(key.map((column, at) => [column.name, shownValue(column, values[at] ?? null)]));
}

/** A stored value as a plan shows it: its JSON, long ones cut. */
export function shownValue({ type }: Pick<CatalogColumn, "type">, text: string | null): unknown {
  if (text === null) return null;
  return shownJson(valueToJson(type.kind, fromSqlText(type, text)));
}

/** JSON as a plan shows it; what is long, or would lose digits, is shown as text. */
export function shownJson(json: string): unknown {
  if (json.length > SHOWN) return `${json.slice(0, SHOWN)}…`;
  const value: unknown = JSON.parse(json);
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value) ? json : value;
}
