import type { ColumnType } from "@appdb/contract/types";
import type { CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { shownRowKey, shownValue } from "../catalog/shown-values.ts";
import { compileJsonChecks } from "../kinds/json-checks.ts";
import { JSON_TYPE } from "../kinds/kinds.ts";
import type { SqlConnection } from "../ports.ts";
import { quoteIdent, quoteTable } from "../sql/quote.ts";
import { keyColumns } from "../views/row-keys.ts";
import type { NarrowingViolation } from "./facts.ts";

/** Maximum number of mismatching values in a plan. */
export const MAX_EXAMPLES = 5;
/** Values in memory at a time. */
const BATCH = 1_000;

export interface JsonInspection {
  readonly table: CatalogTable;
  readonly column: CatalogColumn;
  readonly schema: NonNullable<ColumnType["schema"]>;
  /** Only rows written by this transaction or later ones; null for all. */
  readonly since: string | null;
}

/** Counts the values of a Json column that violate a schema, batch by batch. Schemas do not apply to null. */
export async function findUnfitJson(
  sql: SqlConnection,
  inspection: JsonInspection,
): Promise<NarrowingViolation | undefined> {
  const { table, column, schema, since } = inspection;
  const type = { ...JSON_TYPE, schema };
  const check = (await compileJsonChecks([type])).of(type);
  if (check === undefined) return undefined;
  const key = keyColumns(table);
  const id = quoteIdent(table.identity);
  const values = [id, ...key.map((part) => quoteIdent(part.name)), quoteIdent(column.name)];
  const text = `select ${values.join(", ")} from ${quoteTable(table)}
    where ${quoteIdent(column.name)} is not null and ($1::uuid is null or ${id} > $1::uuid)
      and ($2::xid is null or age(xmin) <= age($2::xid))
    order by ${id} limit ${BATCH}`;
  const examples: NarrowingViolation["examples"][number][] = [];
  let count = 0;
  let reason = "";
  for (let cursor: string | null = null; ; ) {
    const { rows } = await sql.query({ text, values: [cursor, since] });
    for (const row of rows) {
      const json = row[key.length + 1] ?? "null";
      const misfit = check(JSON.parse(json));
      if (misfit === undefined) continue;
      count += 1;
      if (reason === "") reason = `${misfit.pointer === "" ? "" : `at ${misfit.pointer}: `}${misfit.detail}`;
      if (examples.length < MAX_EXAMPLES)
        examples.push({ key: shownRowKey(key, row.slice(1)), value: shownValue(column, json) });
    }
    if (rows.length < BATCH) break;
    cursor = rows.at(-1)?.[0] ?? null;
  }
  return count === 0 ? undefined : { reason: `not what the schema says. ${reason}`, rows: count, examples };
}
