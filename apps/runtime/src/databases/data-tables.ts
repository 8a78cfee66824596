import type { DataTable } from "@appdb/contract/routes/pod";
import { displayType } from "@appdb/contract/types";
import type { Catalog, CatalogTable } from "@appdb/engine/catalog/catalog";
import { emptyCatalog, hasCatalog, loadCatalog } from "@appdb/engine/catalog/load-catalog";
import { readTableSizes } from "@appdb/engine/catalog/table-sizes";
import { countErrors } from "@appdb/engine/compute/list-errors";
import type { SqlConnection } from "@appdb/engine/ports";
import { seenColumns } from "@appdb/engine/queries/list-rows";

/** Loads the catalog. It is empty when no update has made tables in the database. */
export async function catalogOf(sql: SqlConnection): Promise<Catalog> {
  return (await hasCatalog(sql)) ? await loadCatalog(sql) : emptyCatalog();
}

/** Describes tables for users: their columns and sizes. */
export async function describeTables(sql: SqlConnection, tables: readonly CatalogTable[]): Promise<DataTable[]> {
  const [sizes, errors] = [await readTableSizes(sql, tables), await countErrors(sql, tables)];
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
