import { appError } from "@appdb/contract/errors";
import type { TableErrors } from "@appdb/contract/jobs";
import { nearestName } from "@appdb/contract/nearest";
import type { Catalog, CatalogTable } from "@appdb/engine/catalog/catalog";
import { loadDefinitions } from "@appdb/engine/catalog/load-catalog";
import { conditionColumn, viewColumnName } from "@appdb/engine/catalog/sql-names";
import { countErrors, listErrors } from "@appdb/engine/compute/list-errors";
import type { SqlConnection } from "@appdb/engine/ports";
import { folderSchema } from "@appdb/engine/target";
import { type ReadableTable, readableTables } from "@appdb/engine/views/view-tables";
import type { OpenByText } from "./open-known.ts";

/** The schema of tables that are in no folder. */
const ROOT = "public";

export interface ErrorsInput {
  readonly target: string;
  readonly table?: string | undefined;
  readonly column?: string | undefined;
  readonly limit: number;
}

/**
 * Finds failing cells: the first ones of a table, or counts for each affected table of a target and its folders. A name
 * that is not a table may be a folder.
 * @throws table_not_found, column_not_found
 */
export async function findErrors(
  open: OpenByText,
  { target: text, table: name, column, limit }: ErrorsInput,
): Promise<TableErrors[]> {
  const { sql, target } = await open(text);
  const catalog = await loadDefinitions(sql);
  const tables = catalog.tables.filter((table) => isIn(table, target.text));
  if (name === undefined) return await countTables(sql, target.text, catalog);
  const table = tables.find((candidate) => candidate.name === name);
  const folder = `${target.text}/${name}`;
  const readable = readableTables(catalog).filter((one) => isIn(one, target.text));
  const view = readable.find((one) => one.view !== undefined && one.name === name);
  const isFolder = catalog.tables.some((one) => isBelow(one, folder));
  const request = { path: folder, limit, tables };
  if (view?.view !== undefined) return [await listViewErrors(sql, view, { ...request, column })];
  if (table === undefined && isFolder) return await countTables(sql, folder, catalog);
  if (table === undefined)
    throw missing("table_not_found", `There is no table ${target.text}/${name}.`, name, readable);
  const columns = table.columns.filter((candidate) => candidate.is_hidden !== true);
  if (column !== undefined && !columns.some((candidate) => candidate.name === column)) {
    const kind = table.rows_of == null ? "Table" : "View";
    throw missing("column_not_found", `${kind} ${name} has no column ${column}.`, column, columns);
  }
  const own = await listErrors(sql, table, { ...request, columns: column === undefined ? null : [column] });
  const base = tables.find((candidate) => candidate.name === table.rows_of?.table);
  if (base === undefined || column !== undefined) return [own];
  const makers = [table.rows_of?.column ?? "", conditionColumn(name)];
  return [joined(await listErrors(sql, base, { ...request, columns: makers }), own, limit)];
}

/** The errors of an iterator view: of the rows that it has not made, with the key of the base's row, and of its rows. */
function joined(ofBase: TableErrors, own: TableErrors, limit: number): TableErrors {
  return {
    table: own.table,
    rows: ofBase.rows + own.rows,
    counts: { ...own.counts, ...ofBase.counts },
    errors: [...ofBase.errors, ...own.errors].slice(0, limit),
  };
}

function isIn({ folder }: Pick<CatalogTable, "folder">, target: string): boolean {
  return folder === folderSchema(target);
}

/** Whether a table is in a target or one of its folders. */
function isBelow({ folder }: Pick<CatalogTable, "folder">, target: string): boolean {
  const schema = folderSchema(target);
  return schema === ROOT || folder === schema || folder.startsWith(`${schema}/`);
}

type ListRequest = Omit<Parameters<typeof listErrors>[2], "columns">;

/** The errors of a view's condition and own columns are errors of its table. */
async function listViewErrors(
  sql: SqlConnection,
  { name, columns, shown, view }: ReadableTable,
  { column, ...request }: ListRequest & { readonly column: string | undefined },
): Promise<TableErrors> {
  const known = columns.filter((one) => column === undefined || one.name === column);
  if (known.length === 0)
    throw missing("column_not_found", `View ${name} has no column ${column}.`, column ?? "", columns);
  const stored = known.flatMap((one) => shown?.stored_as.get(one.name) ?? []);
  const cells = stored.filter((one) => column !== undefined || one.includes("."));
  const own = column === undefined ? [viewColumnName(name, null), ...cells] : cells;
  if (view === undefined) throw new TypeError(`${name} is not a view.`);
  return await listErrors(sql, view.table, { ...request, columns: own });
}

/** The counts of each table of a target and its folders that has failing cells, by path. */
async function countTables(sql: SqlConnection, path: string, { tables }: Catalog): Promise<TableErrors[]> {
  const wanted = tables.filter((table) => isBelow(table, path));
  const counts = await countErrors(sql, wanted);
  const failing = wanted.filter((table) => counts.has(table.id));
  const found = await Promise.all(
    failing.map((table) => listErrors(sql, table, { path: pathBelow(path, table), columns: null, limit: 0, tables })),
  );
  return found.sort((left, right) => (left.table < right.table ? -1 : 1));
}

/** The path of a table in a target or one of its folders. */
function pathBelow(target: string, { folder, name }: CatalogTable): string {
  if (isIn({ folder }, target)) return `${target}/${name}`;
  const schema = folderSchema(target);
  return `${target}/${schema === ROOT ? folder : folder.slice(schema.length + 1)}/${name}`;
}

function missing(
  code: "table_not_found" | "column_not_found",
  detail: string,
  name: string,
  known: readonly { readonly name: string }[],
): Error {
  const names = known.map((one) => one.name);
  const suggestion = nearestName(name, names);
  const hint = suggestion === undefined ? `There are: ${names.join(", ") || "none"}` : `Did you mean ${suggestion}?`;
  return appError(code, { detail, hint, meta: { name } });
}
