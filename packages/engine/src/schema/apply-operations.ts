import { assertNever } from "@appdb/contract/assert";
import type { ManifestColumn } from "@appdb/contract/manifest";
import type { SqlConnection } from "../ports.ts";
import type { CatalogTable } from "./catalog.ts";
import {
  deleteColumn,
  deleteIndex,
  insertColumn,
  insertIndex,
  insertJob,
  insertTable,
  updateColumn,
  updateTable,
} from "./catalog-store.ts";
import { columnsOf } from "./compare.ts";
import * as ddl from "./ddl.ts";
import { identityOf, type Operation } from "./operations.ts";
import { quoteTable } from "./sql-text.ts";

type Changed<Kind extends Operation["kind"]> = Extract<Operation, { kind: Kind }>;

/** Carries out operations inside the caller's transaction: first PostgreSQL's tables, then the catalog's rows, then jobs.
 *  Always in this order: a running job takes its locks likewise, and neither can wait for the other in a circle. */
export async function applyOperations(
  sql: SqlConnection,
  folder: string,
  operations: readonly Operation[],
  runtimeId: string,
): Promise<{ table_ids: readonly number[]; jobs: readonly string[] }> {
  const touched = new Map<number, CatalogTable>();
  for (const operation of operations) {
    if (operation.kind === "create_table") await createTable(sql, folder, operation);
    else touched.set(operation.table.id, operation.table);
  }
  const jobs: string[] = [];
  for (const table of touched.values()) {
    const own = operations.filter((operation) => operation.kind !== "create_table" && operation.table.id === table.id);
    jobs.push(...(await changeTable(sql, table, own, runtimeId)));
  }
  return { table_ids: [...touched.keys()], jobs };
}

async function createTable(
  sql: SqlConnection,
  folder: string,
  { to, indexes }: Changed<"create_table">,
): Promise<void> {
  const identity = identityOf(to);
  if (folder !== "public") await sql.query({ text: ddl.createFolder(folder) });
  for (const text of ddl.createTable(folder, to, identity, indexes)) await sql.query({ text });
  const id = await insertTable(sql, folder, to, identity);
  for (const column of to.columns) await insertColumn(sql, id, column, "ready");
  for (const index of indexes) await insertIndex(sql, { id, name: to.name }, index, "ready");
}

async function changeTable(
  sql: SqlConnection,
  table: CatalogTable,
  operations: readonly Operation[],
  runtimeId: string,
): Promise<readonly string[]> {
  // Waits for writers that are under way: whatever is written from here on sees the table's new version.
  await sql.query({ text: `lock table ${quoteTable(table)} in access exclusive mode` });
  for (const operation of operations) {
    for (const text of statementsOf(table, operation)) await sql.query({ text });
  }
  const { rows } = await sql.query({ text: `select exists (select from ${quoteTable(table)})` });
  const hasRows = rows[0]?.[0] === "t";
  const columns = [...table.columns, ...operations.flatMap((made) => (made.kind === "add_column" ? [made.to] : []))];
  const filling: number[] = [];
  const indexIds: number[] = [];
  for (const operation of operations) {
    if (operation.kind === "add_index" && !hasRows) {
      await sql.query({ text: ddl.createIndex(table, operation.index, columns, { concurrently: false }) });
    }
    const id = await record(sql, table, operation, hasRows);
    if (operation.kind === "add_column" && operation.to.computed !== null) filling.push(id);
    if (operation.kind === "add_index") indexIds.push(id);
  }
  const recomputed = recomputedColumns(table, operations);
  if (!hasRows) return [];
  const job = { table_id: table.id, runtime_id: runtimeId };
  const jobs: string[] = [];
  if (filling.length + recomputed.length > 0) {
    const kind = filling.length > 0 ? "fill" : "recompute";
    jobs.push(await insertJob(sql, { ...job, kind, column_ids: [...recomputed, ...filling], index_id: null }));
  }
  for (const id of indexIds) {
    jobs.push(await insertJob(sql, { ...job, kind: "build_index", column_ids: [], index_id: id }));
  }
  return jobs;
}

/** The statements on the table itself. An index is built by a job when the table has rows, else at once. */
function statementsOf(table: CatalogTable, operation: Operation): readonly string[] {
  switch (operation.kind) {
    case "drop_index":
      return [ddl.dropIndex(table.folder, operation.index.sql_name, { concurrently: false })];
    case "drop_column":
      return [ddl.dropColumn(table, operation.column.name)];
    case "add_column":
      return ddl.addColumn(table, operation.to);
    case "alter_column":
      return [
        ...(operation.changes.includes("nullability") ? ddl.alterNullability(table, operation.to) : []),
        ...(operation.changes.includes("comment")
          ? [ddl.commentOnColumn(table, operation.to.name, operation.to.comment)]
          : []),
      ];
    case "alter_table":
      return operation.changes.includes("comment") ? [ddl.commentOnTable(table, operation.to.comment)] : [];
    case "create_table":
    case "add_index":
      return [];
    default:
      return assertNever(operation);
  }
}

/** Writes an operation into the catalog and gives the id of the column or index it made, or of what it changed. */
async function record(
  sql: SqlConnection,
  table: CatalogTable,
  operation: Operation,
  hasRows: boolean,
): Promise<number> {
  switch (operation.kind) {
    case "drop_index":
      await deleteIndex(sql, operation.index.id);
      return operation.index.id;
    case "drop_column":
      await deleteColumn(sql, operation.column.id);
      return operation.column.id;
    case "add_column":
      return insertColumn(sql, table.id, operation.to, hasRows && operation.to.computed !== null ? "filling" : "ready");
    case "alter_column":
      await updateColumn(sql, operation.column.id, operation.to);
      return operation.column.id;
    case "add_index":
      return insertIndex(sql, table, operation.index, hasRows ? "building" : "ready");
    case "alter_table":
      await updateTable(sql, table.id, operation.to);
      return table.id;
    case "create_table":
      throw new Error("a new table is recorded where it is created");
    default:
      return assertNever(operation);
  }
}

/** Columns whose expression changed, and all stored ones that read them: their values follow. */
function recomputedColumns(table: CatalogTable, operations: readonly Operation[]): readonly number[] {
  const altered = new Map<string, ManifestColumn>();
  const changed = new Set<string>();
  const dropped = new Set<string>();
  for (const operation of operations) {
    if (operation.kind === "drop_column") dropped.add(operation.column.name);
    if (operation.kind !== "alter_column") continue;
    altered.set(operation.to.name, operation.to);
    if (operation.changes.includes("value") || operation.changes.includes("stale")) changed.add(operation.to.name);
  }
  let size: number;
  do {
    size = changed.size;
    for (const column of table.columns) {
      const computed = altered.has(column.name) ? altered.get(column.name)?.computed : column.computed;
      if (computed && [...columnsOf(computed.expr)].some((name) => changed.has(name))) changed.add(column.name);
    }
  } while (changed.size > size);
  return table.columns
    .filter((column) => changed.has(column.name) && !dropped.has(column.name))
    .map((column) => column.id);
}
