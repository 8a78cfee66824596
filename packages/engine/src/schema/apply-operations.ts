import { assertNever } from "@appdb/contract/assert";
import { type Expr, generatorOf } from "@appdb/contract/expressions";
import type { ColumnType } from "@appdb/contract/types";
import type { CatalogColumn, CatalogIndex, CatalogTable } from "../catalog/catalog.ts";
import {
  deleteColumn,
  deleteIndex,
  insertColumn,
  insertIndex,
  insertJob,
  insertTable,
  leaveJobs,
  markBuilding,
  markFilling,
  type NewJob,
  updateColumn,
  updateIndex,
  updateTable,
} from "../catalog/catalog-store.ts";
import * as ddl from "../catalog/ddl.ts";
import { storeFolder } from "../catalog/folders.ts";
import { columnsIn, identityOf, type SchemaOperation } from "../catalog/operations.ts";
import { mapParts } from "../expressions/tree.ts";
import { followErrors, followRewrite, undoTablesOf } from "../jobs/previous-values/follow-undo.ts";
import { addShadows } from "../jobs/previous-values/open-shadows.ts";
import type { SqlConnection } from "../ports.ts";
import { quoteTable } from "../sql/quote.ts";
import { applyRenames } from "./apply-renames.ts";
import { besideShadows, columnsWithShadows, droppedLater } from "./shadow-operations.ts";
import { changedValues, tableAfter } from "./table-after.ts";

type Changed<Kind extends SchemaOperation["kind"]> = Extract<SchemaOperation, { kind: Kind }>;

/** Runs operations inside the caller's transaction: first on PostgreSQL's tables, then on the catalog's rows, then
 *  on jobs. A running job takes its locks in the same order, which prevents deadlocks. */
export async function applyOperations(
  sql: SqlConnection,
  folder: string,
  operations: readonly SchemaOperation[],
  runtimeId: string | null,
): Promise<{ table_ids: readonly number[]; jobs: readonly string[] }> {
  await applyRenames(sql, operations);
  const touched = new Map<number, CatalogTable>();
  for (const operation of operations) {
    if (operation.kind === "create_table") await createTable(sql, folder, operation, runtimeId);
    else touched.set(operation.table.id, operation.table);
  }
  const jobs: string[] = [];
  for (const { table, own } of inReadingOrder([...touched.values()], operations)) {
    jobs.push(...(await changeTable(sql, table, own, runtimeId)));
  }
  return { table_ids: [...touched.keys()], jobs };
}

interface Change {
  readonly table: CatalogTable;
  readonly own: readonly SchemaOperation[];
}

/** Sorts tables after those that their columns' queries read, so that these columns are filled first. */
function inReadingOrder(tables: readonly CatalogTable[], operations: readonly SchemaOperation[]): readonly Change[] {
  const ordered = new Map<number, Change>();
  const seen = new Set<number>();
  const add = (table: CatalogTable): void => {
    if (seen.has(table.id)) return;
    seen.add(table.id);
    const own = operations.filter((operation) => operation.kind !== "create_table" && operation.table.id === table.id);
    const queries = tableAfter(table, own).columns.flatMap(({ computed }) => computed?.queries ?? []);
    const read = new Set(queries.flatMap(({ query }) => [query.from, ...query.joins].map((ref) => ref.table)));
    for (const other of tables) if (read.has(other.name)) add(other);
    ordered.set(table.id, { table, own });
  };
  for (const table of tables) add(table);
  return [...ordered.values()];
}

async function createTable(
  sql: SqlConnection,
  folder: string,
  { to, indexes }: Changed<"create_table">,
  runtimeId: string | null,
): Promise<void> {
  const identity = identityOf(to);
  if (folder !== "public") await storeFolder(sql, folder);
  for (const text of ddl.createTable(folder, to, identity, indexes)) await sql.query({ text });
  const id = await insertTable(sql, folder, to, identity, runtimeId);
  for (const column of to.columns) await insertColumn(sql, id, column, "ready");
  for (const index of indexes) await insertIndex(sql, { id, name: to.name }, index, "ready");
}

async function changeTable(
  sql: SqlConnection,
  table: CatalogTable,
  operations: readonly SchemaOperation[],
  runtimeId: string | null,
): Promise<readonly string[]> {
  // Waits for current writers. Everything written from here on sees the table's new version.
  await sql.query({ text: `lock table ${quoteTable(table)} in access exclusive mode` });
  const { rows } = await sql.query({ text: `select exists (select from ${quoteTable(table)})` });
  const hasRows = rows[0]?.[0] === "t";
  const shadowed = hasRows ? columnsWithShadows(table, operations) : new Set<string>();
  const gone = droppedLater(table, operations, shadowed);
  const now = besideShadows(table, operations, shadowed, gone);
  const undoTables = now.some(isRewriting) ? await undoTablesOf(sql, table.id) : [];
  for (const operation of now) {
    for (const undo of undoTables) await follow(sql, undo, table, operation);
    for (const text of statementsOf(table, operation)) await sql.query({ text });
  }
  const after = tableAfter(table, operations);
  const types = new Map(after.columns.map((column) => [column.name, column.type]));
  const next = after.columns.map((column) => (shadowed.has(column.name) ? readingTypes(column, types) : column));
  const filling: NamedId[] = [...(await addShadows(sql, { ...after, columns: next }, shadowed, gone))];
  const built: NamedIndex[] = [];
  for (const operation of now) {
    if (!hasRows && (operation.kind === "add_index" || operation.kind === "replace_index")) {
      const index = operation.kind === "add_index" ? operation.index : operation.to;
      await sql.query({ text: ddl.createIndex(table, index, after.columns, { concurrently: false }) });
    }
    const id = await record(sql, table, operation, hasRows);
    if (isFilled(operation)) filling.push({ id, name: operation.to.name });
    if (operation.kind === "add_index") built.push({ id, columns: operation.index.columns });
    if (operation.kind === "replace_index") built.push({ id, columns: operation.to.columns });
  }
  for (const index of lostIndexes(table, operations)) {
    // The index of a column that has a shadow stays until the shadow is in place.
    if (hasRows && !columnsIn(index).some((name) => shadowed.has(name))) await markBuilding(sql, index.id);
    if (!hasRows) await sql.query({ text: ddl.createIndex(table, index, after.columns, { concurrently: false }) });
    built.push({ id: index.id, columns: index.columns });
  }
  return hasRows ? queueJobs(sql, table, operations, { filling, built, runtimeId }) : [];
}

/** Operations that make new versions of rows. */
function isRewriting(operation: SchemaOperation): boolean {
  if (operation.kind === "drop_column") return true;
  if (operation.kind === "add_column") return hasVolatileDefault(operation);
  if (operation.kind !== "alter_column") return false;
  return operation.using !== null || losesErrors(operation);
}

/** PostgreSQL evaluates a constant or the time once for all existing rows and does not rewrite them. */
function hasVolatileDefault({ to }: Changed<"add_column">): boolean {
  const generator = to.default == null ? undefined : generatorOf(to.default.expr);
  return generator !== undefined && generator !== "now";
}

/** An operation, applied also to the undo values of a job. */
async function follow(
  sql: SqlConnection,
  undo: string,
  table: CatalogTable,
  operation: SchemaOperation,
): Promise<void> {
  if (operation.kind === "add_column" && hasVolatileDefault(operation)) await followRewrite(sql, undo, table, "all");
  if (operation.kind !== "drop_column" && operation.kind !== "alter_column") return;
  const { name } = operation.column;
  const isConverted = operation.kind === "alter_column" && operation.using !== null;
  if (isConverted) await followRewrite(sql, undo, table, "all");
  if (operation.kind === "alter_column" && !losesErrors(operation)) return;
  if (!isConverted) await followRewrite(sql, undo, table, [name]);
  await followErrors(sql, undo, [{ from: name, to: null }]);
}

/** A recreated column, or one whose values are no longer computed by a function. */
function losesErrors(operation: Changed<"alter_column">): boolean {
  return operation.is_remade || operation.changes.includes("stored_or_computed");
}

/** Columns that are hidden until they are filled. */
function isFilled(operation: SchemaOperation): operation is Changed<"add_column" | "alter_column"> {
  if (operation.kind === "alter_column") return operation.is_remade;
  return operation.kind === "add_column" && operation.to.computed !== null;
}

/** PostgreSQL drops the indexes over a recreated column. */
function lostIndexes(table: CatalogTable, operations: readonly SchemaOperation[]): readonly CatalogIndex[] {
  const remade = new Set(operations.filter(isFilled).map((operation) => operation.to.name));
  const dropped = new Set(
    operations.flatMap((operation) => (operation.kind === "drop_index" ? [operation.index.id] : [])),
  );
  return table.indexes.filter((index) => !dropped.has(index.id) && columnsIn(index).some((name) => remade.has(name)));
}

interface NamedId {
  readonly id: number;
  readonly name: string;
}

interface NamedIndex {
  readonly id: number;
  readonly columns: readonly string[];
}

/** One job computes all columns of a table in one pass. Each index is a job of its own, after it. The shadow of a column
 *  is filled under the column's name. */
async function queueJobs(
  sql: SqlConnection,
  table: CatalogTable,
  operations: readonly SchemaOperation[],
  work: {
    readonly filling: readonly NamedId[];
    readonly built: readonly NamedIndex[];
    readonly runtimeId: string | null;
  },
): Promise<readonly string[]> {
  const after = tableAfter(table, operations);
  const changed = changedValues(after, operations);
  const filled = new Set(work.filling.map((column) => column.name));
  const recomputed = table.columns.filter((column) => changed.has(column.name) && !filled.has(column.name));
  const types = new Map(after.columns.map((column) => [column.name, column.type]));
  const common = { table_id: table.id, table_name: table.name, runtime_id: work.runtimeId };
  const computed = [...recomputed, ...work.filling];
  const jobs: string[] = [];
  if (computed.length > 0) {
    const job: NewJob = {
      ...common,
      kind: work.filling.length > 0 ? "fill" : "recompute",
      column_ids: computed.map((column) => column.id),
      column_names: computed.map((column) => column.name),
      index_id: null,
      undo: recomputed.map(({ id, computed: previous, nullable }) => ({
        id,
        computed: previous === null ? null : { ...previous, expr: readAs(previous.expr, types) },
        nullable,
      })),
    };
    jobs.push(await insertJob(sql, job));
  }
  for (const { id, columns } of work.built) {
    const job: NewJob = {
      ...common,
      kind: "build_index",
      column_ids: [],
      column_names: columns,
      index_id: id,
      undo: [],
    };
    jobs.push(await insertJob(sql, job));
  }
  return jobs;
}

/** The statements on the table itself. If the table has rows, a job builds the index; otherwise it is built at once. */
function statementsOf(table: CatalogTable, operation: SchemaOperation): readonly string[] {
  switch (operation.kind) {
    case "drop_index":
      return [ddl.dropIndex(table.folder, operation.index.sql_name, { concurrently: false })];
    case "drop_column":
      return ddl.dropColumn(table, operation.column.name);
    case "add_column":
      // A killed job may have left a previous column of a view behind.
      return [
        ...(operation.to.view === undefined ? [] : [ddl.dropShadow(table, operation.to.name)]),
        ...ddl.addColumn(table, operation.to),
      ];
    case "alter_column":
      if (operation.is_remade)
        return [...ddl.dropColumn(table, operation.to.name), ...ddl.addColumn(table, operation.to)];
      return [
        ...(operation.column.default != null && operation.using !== null
          ? [ddl.dropDefault(table, operation.to.name)]
          : []),
        ...(operation.using === null ? [] : [ddl.alterType(table, operation.to, operation.using)]),
        ...(operation.changes.includes("stored_or_computed") ? [ddl.forgetErrors(table, operation.to.name)] : []),
        ...(operation.changes.some((change) => change === "nullability" || change === "stored_or_computed")
          ? ddl.alterNullability(table, operation.to)
          : []),
        ...(operation.changes.includes("default") || (operation.to.default != null && operation.using !== null)
          ? [ddl.alterDefault(table, operation.to)]
          : []),
        ...(operation.changes.includes("comment")
          ? [ddl.commentOnColumn(table, operation.to.name, operation.to.comment)]
          : []),
      ];
    case "alter_table":
      return operation.changes.includes("comment") ? [ddl.commentOnTable(table, operation.to.comment)] : [];
    case "create_table":
    case "add_index":
    case "replace_index":
    case "alter_index":
    case "rename_table":
    case "rename_column":
    case "rename_index":
    case "refuse_rename":
      return [];
    default:
      return assertNever(operation);
  }
}

/** Writes an operation into the catalog. Returns the id of the created or changed column, index or table. */
async function record(
  sql: SqlConnection,
  table: CatalogTable,
  operation: SchemaOperation,
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
      if (operation.is_remade && hasRows) await markFilling(sql, operation.column.id);
      if (operation.to.computed === null) await leaveJobs(sql, operation.column.id);
      return operation.column.id;
    case "add_index":
      return insertIndex(sql, table, operation.index, hasRows ? "building" : "ready");
    case "replace_index":
      return replaceIndex(sql, table, operation, hasRows);
    case "alter_index":
      await updateIndex(sql, operation.index.id, operation.to);
      return operation.index.id;
    case "alter_table":
      await updateTable(sql, table.id, operation.to);
      return table.id;
    case "rename_table":
    case "rename_column":
    case "rename_index":
      return table.id; // Recorded by applyRenames().
    case "create_table":
      throw new Error("a new table is recorded where it is created");
    case "refuse_rename":
      throw new Error("an unsupported operation is never carried out");
    default:
      return assertNever(operation);
  }
}

/** An unbuilt index is not in use, so its replacement replaces the index that it would have replaced. */
async function replaceIndex(
  sql: SqlConnection,
  table: CatalogTable,
  { index, to }: Changed<"replace_index">,
  hasRows: boolean,
): Promise<number> {
  const isReady = hasRows && index.state === "ready";
  const previous = hasRows ? (index.replaces ?? null) : null;
  const replaces = isReady ? index.id : previous;
  const id = await insertIndex(sql, table, to, hasRows ? "building" : "ready", replaces);
  if (isReady) return id;
  await sql.query({ text: ddl.dropIndex(table.folder, index.sql_name, { concurrently: false }) });
  await deleteIndex(sql, index.id);
  return id;
}

/** A column whose expression reads others of these types. */
function readingTypes(column: CatalogColumn, types: ReadonlyMap<string, ColumnType>): CatalogColumn {
  const { computed } = column;
  return computed === null ? column : { ...column, computed: { ...computed, expr: readAs(computed.expr, types) } };
}

/** A previous expression with the current types of its columns. A failed recompute restores it, so it must be
 *  computable. */
function readAs(expr: Expr, types: ReadonlyMap<string, ColumnType>): Expr {
  const read = mapParts(expr, (part) => readAs(part, types));
  return read.node === "column" ? { ...read, type: types.get(read.name) ?? read.type } : read;
}
