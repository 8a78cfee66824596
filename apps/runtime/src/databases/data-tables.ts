import type { DataTable } from "@appdb/contract/routes/data-api";
import { displayType } from "@appdb/contract/types";
import type { Catalog, CatalogColumn, CatalogTable } from "@appdb/engine/catalog/catalog";
import { viewColumnName } from "@appdb/engine/catalog/sql-names";
import { readTableSizes, type TableSize } from "@appdb/engine/catalog/table-sizes";
import { countErrors } from "@appdb/engine/compute/list-errors";
import type { SqlConnection } from "@appdb/engine/ports";
import { seenColumns } from "@appdb/engine/queries/list-rows";
import { findStored, isBroken } from "@appdb/engine/table-changes/read-declaration";
import { BASE_ROW } from "@appdb/engine/views/lower-iterators";
import { type ReadableTable, rowsSql } from "@appdb/engine/views/view-tables";

/** Describes tables and views of a catalog for users: their columns and sizes. A view has no bytes of its own. */
export async function describeTables(
  sql: SqlConnection,
  catalog: Catalog,
  all: readonly ReadableTable[],
): Promise<DataTable[]> {
  const tables = all.filter(({ view }) => view === undefined);
  const bases = all.flatMap((table) => table.view?.table ?? baseOf(table, catalog) ?? []);
  const counted = [...new Map([...tables, ...bases].map((table) => [table.id, table])).values()];
  const errors = await countErrors(sql, counted);
  const sizes = new Map([...(await readTableSizes(sql, tables)), ...(await countViews(sql, all))]);
  return all.map((table) => ({
    path: pathOf(table.folder, table.name),
    view_of: viewOf(table),
    rows_by: table.view?.filter ?? table.rows_of?.text ?? null,
    comment: table.comment,
    columns: seenColumns(table).map((column) => ({
      name: column.name,
      type: displayType(column.type, column.nullable),
      is_key: column.primary_key,
      is_computed: textOf(table, column) !== null,
      value: textOf(table, column),
      comment: column.comment,
    })),
    indexes: indexesOf(table),
    rows: sizes.get(table.id)?.rows ?? 0,
    is_rows_estimated: sizes.get(table.id)?.is_estimated ?? false,
    errors: cellsOf(table, catalog, errors).reduce((sum, [, cells]) => sum + cells, 0),
    bytes: sizes.get(table.id)?.bytes ?? 0,
    is_broken: isBrokenView(table, catalog),
  }));
}

function isBrokenView({ folder, name }: ReadableTable, catalog: Catalog): boolean {
  const stored = findStored(catalog, folder, name);
  return stored !== undefined && isBroken(catalog, stored);
}

/** The text of a computed column; null for any other. One of an iterator view may be made with its row. */
function textOf({ rows_of: rowsOf }: ReadableTable, { computed, name }: CatalogColumn): string | null {
  if (computed !== null) return computed.text;
  const values = rowsOf?.values ?? {};
  return Object.hasOwn(values, name) ? (values[name] ?? null) : null;
}

/** The path of what a view is over; null for a table. */
function viewOf({ folder, rows_of: rowsOf, view }: ReadableTable): string | null {
  const base = view?.base ?? rowsOf?.base ?? rowsOf?.table;
  return base === undefined ? null : pathOf(folder, base);
}

function pathOf(folder: string, name: string): string {
  return folder === "public" ? name : `${folder}/${name}`;
}

/** The failed cells of a table or view; of an iterator view also those that would have made its rows. */
function cellsOf(
  table: ReadableTable,
  catalog: Catalog,
  errors: Awaited<ReturnType<typeof countErrors>>,
): readonly [string, number][] {
  const own = Object.entries(errors.get((table.view?.table ?? table).id) ?? {}).filter(([column]) =>
    isOf(table, column),
  );
  const made = Object.entries(errors.get(baseOf(table, catalog)?.id ?? 0) ?? {});
  return [...own, ...made.filter(([column]) => column === table.rows_of?.column)];
}

/** The table whose rows make those of an iterator view. */
function baseOf({ folder, rows_of: rowsOf }: ReadableTable, { tables }: Catalog): CatalogTable | undefined {
  return tables.find((table) => table.folder === folder && table.name === rowsOf?.table);
}

/** The indexes of a table without those of its views, or those of a view over columns of its own. */
function indexesOf({ indexes, shown: rows, view }: ReadableTable): DataTable["indexes"] {
  const own = new Map(
    [...((view === undefined ? undefined : rows?.stored_as) ?? [])].map(([name, stored]) => [stored, name]),
  );
  return (view?.table.indexes ?? indexes).flatMap(({ columns, embedding, kind, name }) => {
    const isOfView = columns.some((column) => column.includes("."));
    if (columns.includes(BASE_ROW)) return [];
    if (isOfView !== (view !== undefined) || (isOfView && !columns.every((column) => own.has(column)))) return [];
    const shown = isOfView ? columns.map((column) => own.get(column) ?? column) : [...columns];
    return [{ name: name?.split(".").at(-1) ?? null, kind, columns: shown, metric: embedding?.metric ?? null }];
  });
}

/** Whether errors of a column count for the table, or for the view whose column it is. */
function isOf({ columns, name, shown, view }: ReadableTable, column: string): boolean {
  if (view === undefined) return !column.includes(".");
  if (column === viewColumnName(name, null)) return true;
  return column.includes(".") && columns.some((one) => shown?.stored_as.get(one.name) === column);
}

async function countViews(
  sql: SqlConnection,
  tables: readonly ReadableTable[],
): Promise<ReadonlyMap<number, TableSize>> {
  const views = tables.filter(({ view }) => view !== undefined);
  if (views.length === 0) return new Map();
  const text = views.map((view) => `select ${view.id}, (select count(*) from ${rowsSql(view)})`).join(" union all ");
  const { rows } = await sql.query({ text });
  return new Map(rows.map(([id, count]) => [Number(id), { rows: Number(count), is_estimated: false, bytes: 0 }]));
}
