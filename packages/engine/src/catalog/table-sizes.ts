import type { SqlConnection } from "../ports.ts";
import { quoteLiteral, quoteTable } from "../sql/quote.ts";
import type { CatalogTable } from "./catalog.ts";

/** Maximum number of rows that are counted exactly. */
const COUNTED_ROWS = 10_000;

export interface TableSize {
  readonly rows: number;
  /** Whether `rows` is an estimate. */
  readonly is_estimated: boolean;
  /** Includes indexes and long values. */
  readonly bytes: number;
}

/** The sizes of tables by id. Row counts are exact below 10,000 and PostgreSQL's estimate above: those of the last ANALYZE,
 *  or of its statistics of writes, which follow large inserts within seconds. Tables dropped with psql are omitted. */
export async function readTableSizes(
  sql: SqlConnection,
  tables: readonly CatalogTable[],
): Promise<ReadonlyMap<number, TableSize>> {
  if (tables.length === 0) return new Map();
  const estimates = tables.map(
    (
      table,
    ) => `select ${table.id}, greatest(c.reltuples, pg_stat_get_live_tuples(c.oid)), pg_total_relation_size(c.oid) from pg_class c
      where c.relname = ${quoteLiteral(table.name)}
        and c.relnamespace = (select oid from pg_namespace where nspname = ${quoteLiteral(table.folder)})`,
  );
  const { rows } = await sql.query({ text: estimates.join(" union all ") });
  const sizes = new Map(
    rows.map(([id, count, bytes]) => [Number(id), { rows: Number(count), is_estimated: true, bytes: Number(bytes) }]),
  );
  const few = tables.filter(({ id }) => (sizes.get(id)?.rows ?? COUNTED_ROWS) < COUNTED_ROWS);
  if (few.length === 0) return sizes;
  const counts = few.map(
    (table) => `select ${table.id}, (select count(*) from (select from ${quoteTable(table)} limit ${COUNTED_ROWS}) t)`,
  );
  for (const [id, count] of (await sql.query({ text: counts.join(" union all ") })).rows) {
    const known = sizes.get(Number(id));
    if (known === undefined) continue;
    const exact = Number(count);
    const isEstimated = exact >= COUNTED_ROWS;
    sizes.set(Number(id), { ...known, rows: exact, is_estimated: isEstimated });
  }
  return sizes;
}
