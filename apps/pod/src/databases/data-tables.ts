import type { DataTable } from "@appdb/contract/routes/pod";
import { displayType } from "@appdb/contract/types";
import type { SqlConnection } from "@appdb/engine/ports";
import { countErrors } from "@appdb/engine/rows/list-errors";
import { seenColumns } from "@appdb/engine/rows/list-rows";
import type { Catalog, CatalogTable } from "@appdb/engine/schema/catalog";
import { emptyCatalog, hasCatalog, loadCatalog } from "@appdb/engine/schema/load-catalog";
import { quoteLiteral, quoteTable } from "@appdb/engine/sql/quote";

/** Up to here rows are counted one by one. */
const COUNTED_ROWS = 10_000;

/** The catalog; an empty one of a database that no update has made tables in. */
export async function catalogOf(sql: SqlConnection): Promise<Catalog> {
  return (await hasCatalog(sql)) ? await loadCatalog(sql) : emptyCatalog();
}

/** Tells of tables what a person looks for: their columns, and how much is in them. */
export async function describeTables(sql: SqlConnection, tables: readonly CatalogTable[]): Promise<DataTable[]> {
  if (tables.length === 0) return [];
  const [sizes, errors] = [await readSizes(sql, tables), await countErrors(sql, tables)];
  return tables.map((table) => ({
    path: table.folder === "public" ? table.name : `${table.folder}/${table.name}`,
    columns: seenColumns(table).map((column) => ({
      name: column.name,
      type: displayType(column.type, column.nullable),
      is_key: column.primary_key,
      is_computed: column.computed !== null,
      value: column.computed?.text ?? null,
    })),
    rows: sizes.get(table.id)?.rows ?? 0,
    errors: Object.values(errors.get(table.id) ?? {}).reduce((sum, cells) => sum + cells, 0),
    bytes: sizes.get(table.id)?.bytes ?? 0,
  }));
}

async function readSizes(
  sql: SqlConnection,
  tables: readonly CatalogTable[],
): Promise<ReadonlyMap<number, { readonly rows: number; readonly bytes: number }>> {
  const estimated = await sql.query({
    text: tables
      .map((table) => `select ${table.id}, c.reltuples, pg_total_relation_size(c.oid) ${fromClass(table)}`)
      .join(" union all "),
  });
  const sizes = new Map(
    estimated.rows.map(([id, rows, bytes]) => [Number(id), { rows: Number(rows), bytes: Number(bytes) }]),
  );
  // -1: never analysed
  const few = tables.filter((table) => (sizes.get(table.id)?.rows ?? COUNTED_ROWS) < COUNTED_ROWS);
  if (few.length === 0) return sizes;
  const counted = await sql.query({
    text: few
      .map(
        (table) =>
          `select ${table.id}, (select count(*) from (select from ${quoteTable(table)} limit ${COUNTED_ROWS}) t)`,
      )
      .join(" union all "),
  });
  for (const [id, count] of counted.rows) {
    const known = sizes.get(Number(id));
    if (known === undefined) continue;
    const rows = Number(count) < COUNTED_ROWS ? Number(count) : Math.max(known.rows, COUNTED_ROWS);
    sizes.set(Number(id), { ...known, rows });
  }
  return sizes;
}

/** By its name and not by a cast: one that somebody took away with psql is left out. */
function fromClass({ folder, name }: CatalogTable): string {
  return `from pg_class c where c.relname = ${quoteLiteral(name)} and c.relnamespace = (select oid from pg_namespace where nspname = ${quoteLiteral(folder)})`;
}
