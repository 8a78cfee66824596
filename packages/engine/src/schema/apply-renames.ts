import type { CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { loadCatalog } from "../catalog/load-catalog.ts";
import type { SchemaOperation } from "../catalog/operations.ts";
import { renameInDefinition, renameInExpr } from "../catalog/rename-catalog.ts";
import { errorsIndexName, identityIndexName, keyIndexName } from "../catalog/sql-names.ts";
import { followErrors, followRewrite, undoTablesOf } from "../jobs/previous-values/follow-undo.ts";
import type { SqlConnection } from "../ports.ts";
import { quoteIdent, quoteTable } from "../sql/quote.ts";

/** A table and its parts that change their names. */
interface Renaming {
  /** The table with its new name. */
  readonly table: CatalogTable;
  /** Its name in PostgreSQL until then. */
  readonly previousName: string;
  readonly columns: readonly { readonly id: number; readonly from: string; readonly to: string }[];
}

interface Step {
  readonly kind: "table" | "column" | "index";
  /** The table of a column, with its name while its columns are renamed. */
  readonly table: CatalogTable;
  readonly from: string;
  readonly to: string;
  /** Unique among all renamed objects. */
  readonly key: string;
}

/**
 * Renames tables, columns and dependent objects, in PostgreSQL and in the catalog. Everything first moves to a reserved
 * name, then to its own. Objects that swap names therefore never collide.
 */
export async function applyRenames(sql: SqlConnection, operations: readonly SchemaOperation[]): Promise<void> {
  const renamings = renamingsOf(operations);
  for (const { table, previousName } of renamings) {
    await sql.query({ text: `lock table ${quoteTable({ ...table, name: previousName })} in access exclusive mode` });
  }
  for (const renaming of renamings) {
    await followRenames(sql, renaming);
    for (const text of await statementsOf(sql, renaming, "away")) await sql.query({ text });
    await moveErrors(sql, renaming);
  }
  for (const renaming of renamings) {
    for (const text of await statementsOf(sql, renaming, "home")) await sql.query({ text });
  }
  await renameTables(sql, renamings);
  for (const renaming of renamings) await renameInCatalog(sql, renaming);
}

function renamingsOf(operations: readonly SchemaOperation[]): readonly Renaming[] {
  const found = new Map<number, Renaming>();
  for (const operation of operations) {
    if (!isRename(operation)) continue;
    const { table } = operation;
    const known = found.get(table.id) ?? { table, previousName: table.name, columns: [] };
    if (operation.kind === "rename_table") found.set(table.id, { ...known, previousName: operation.from });
    else if (operation.kind === "rename_index") found.set(table.id, known);
    else {
      const column = { id: operation.column.id, from: operation.from, to: operation.column.name };
      found.set(table.id, { ...known, columns: [...known.columns, column] });
    }
  }
  return [...found.values()];
}

function isRename(
  operation: SchemaOperation,
): operation is Extract<SchemaOperation, { kind: "rename_table" | "rename_column" | "rename_index" }> {
  return ["rename_table", "rename_column", "rename_index"].includes(operation.kind);
}

async function statementsOf(sql: SqlConnection, renaming: Renaming, way: "away" | "home"): Promise<readonly string[]> {
  const { table, previousName } = renaming;
  const parked = parkedName("table", table.id);
  const isTableRenamed = previousName !== table.name;
  // Columns and indexes are renamed while the table has its first or its temporary name.
  const holder = { ...table, name: way === "home" && isTableRenamed ? parked : previousName };
  const steps = [
    ...renaming.columns.map((column): Step => {
      return { kind: "column", table: holder, from: column.from, to: column.to, key: String(column.id) };
    }),
    ...(await indexSteps(sql, renaming, holder)),
    ...(isTableRenamed
      ? [{ kind: "table" as const, table: holder, from: previousName, to: table.name, key: String(table.id) }]
      : []),
  ];
  return steps.map((step) =>
    way === "away"
      ? renameSql(step, step.from, parkedName(step.kind, step.key))
      : renameSql(step, parkedName(step.kind, step.key), step.to),
  );
}

/** The names of a table's indexes contain its name and those of their columns. */
async function indexSteps(
  sql: SqlConnection,
  { table, previousName }: Renaming,
  holder: CatalogTable,
): Promise<Step[]> {
  const { rows } = await sql.query({
    text: "select id, sql_name from appdb.indexes where table_id = $1",
    values: [table.id],
  });
  const sqlNames = new Map(rows.map(([id, name]) => [Number(id), name ?? ""]));
  const pairs: readonly (readonly [key: string, from: string, to: string])[] = [
    ["pkey", identityIndexName(previousName), identityIndexName(table.name)],
    ["errors", errorsIndexName(previousName), errorsIndexName(table.name)],
    ...(table.primary_key.length > 0 && table.identity === "_row"
      ? [["key", keyIndexName(previousName), keyIndexName(table.name)] as const]
      : []),
    ...table.indexes.map((index) => [String(index.id), sqlNames.get(index.id) ?? "", index.sql_name] as const),
  ];
  return pairs
    .filter(([, from, to]) => from !== to)
    .map(([key, from, to]): Step => ({ kind: "index", table: holder, from, to, key: `${table.id}.${key}` }));
}

/** No declared name can contain this sign. */
function parkedName(kind: Step["kind"], key: string | number): string {
  return `#${kind} ${key}`;
}

function renameSql({ kind, table }: Step, from: string, to: string): string {
  const target = quoteIdent(to);
  switch (kind) {
    case "table":
      return `alter table ${quoteTable({ folder: table.folder, name: from })} rename to ${target}`;
    case "column":
      return `alter table ${quoteTable(table)} rename column ${quoteIdent(from)} to ${target}`;
    case "index":
      // An index that a job has yet to build does not exist.
      return `alter index if exists ${quoteTable({ folder: table.folder, name: from })} rename to ${target}`;
  }
}

/** Moves the errors of renamed columns, which makes new versions of their rows. */
async function followRenames(sql: SqlConnection, { table, previousName, columns }: Renaming): Promise<void> {
  if (columns.length === 0) return;
  const identity = columns.find((column) => column.to === table.identity)?.from ?? table.identity;
  const names = columns.map((column) => column.from);
  for (const undo of await undoTablesOf(sql, table.id)) {
    await followRewrite(sql, undo, { ...table, name: previousName, identity }, names);
    await followErrors(sql, undo, columns);
  }
}

/** A cell's error is stored under its column's name. */
async function moveErrors(sql: SqlConnection, { table, previousName, columns }: Renaming): Promise<void> {
  if (columns.length === 0) return;
  const name = previousName === table.name ? previousName : parkedName("table", table.id);
  await sql.query({
    text: `update ${quoteTable({ folder: table.folder, name })} set _errors = (
        select jsonb_object_agg(coalesce(m.becomes, e.key), e.value) from jsonb_each(_errors) e
        left join unnest($1::text[], $2::text[]) as m(was, becomes) on m.was = e.key)
      where _errors ?| $1::text[]`,
    values: [columns.map((column) => column.from), columns.map((column) => column.to)],
  });
}

async function renameTables(sql: SqlConnection, renamings: readonly Renaming[]): Promise<void> {
  const renamed = renamings.filter(({ table, previousName }) => table.name !== previousName);
  const ids = renamed.map(({ table }) => table.id);
  await sql.query({ text: "update appdb.tables set name = '#' || id where id = any($1::bigint[])", values: [ids] });
  await sql.query({
    text: `update appdb.tables t set name = m.name from unnest($1::bigint[], $2::text[]) as m(id, name) where t.id = m.id`,
    values: [ids, renamed.map(({ table }) => table.name)],
  });
  // Iterator views name the table that their rows are made of, and filtered views the one that they are over.
  const names = [
    renamed.map(({ table }) => table.folder),
    renamed.map(({ previousName }) => previousName),
    renamed.map(({ table }) => table.name),
  ];
  await sql.query({
    text: `update appdb.tables t set rows_of = jsonb_set(t.rows_of::jsonb, '{table}', to_jsonb(m.name))
      from unnest($1::text[], $2::text[], $3::text[]) as m(folder, was, name)
      where t.folder = m.folder and t.rows_of ->> 'table' = m.was`,
    values: names,
  });
  await sql.query({
    text: `update appdb.views v set definition = jsonb_set(v.definition::jsonb, '{base}', to_jsonb(m.name))
      from unnest($1::text[], $2::text[], $3::text[]) as m(folder, was, name)
      where v.folder = m.folder and v.definition ->> 'base' = m.was`,
    values: names,
  });
}

async function renameInCatalog(sql: SqlConnection, { table, columns }: Renaming): Promise<void> {
  const names = new Map(columns.map((column) => [column.from, column.to]));
  await sql.query({
    text: "update appdb.tables set model = $2, primary_key = $3, identity = $4 where id = $1",
    values: [table.id, table.model, [...table.primary_key], table.identity],
  });
  await sql.query({
    text: "update appdb.columns set name = '#' || id where id = any($1::bigint[])",
    values: [columns.map((column) => column.id)],
  });
  await sql.query({
    text: `update appdb.columns c set name = m.name, computed = m.computed
      from unnest($1::bigint[], $2::text[], $3::json[]) as m(id, name, computed) where c.id = m.id`,
    values: [
      table.columns.map((column) => column.id),
      table.columns.map((column) => column.name),
      table.columns.map((column) => (column.computed === null ? null : JSON.stringify(column.computed))),
    ],
  });
  for (const { id, name, columns: indexed, sql_name: sqlName } of table.indexes) {
    await sql.query({
      text: "update appdb.indexes set name = $2, columns = $3, sql_name = $4 where id = $1",
      values: [id, name, [...indexed], sqlName],
    });
  }
  await renameInViews(sql, table.id, names);
  await renameInJobs(sql, table, names);
}

/** Views that the file does not declare read the columns under their new names, too. */
async function renameInViews(sql: SqlConnection, tableId: number, names: ReadonlyMap<string, string>): Promise<void> {
  if (names.size === 0) return;
  const views = (await loadCatalog(sql)).views.filter((view) => view.table_id === tableId);
  for (const { id, definition } of views) {
    const renamed = renameInDefinition(definition, names);
    await sql.query({
      text: "update appdb.views set definition = $2 where id = $1",
      values: [id, JSON.stringify(renamed)],
    });
  }
}

type Undo = Pick<CatalogColumn, "id" | "computed" | "nullable">;

/** Unfinished jobs continue under the new names. They would also restore previous expressions under them. */
async function renameInJobs(
  sql: SqlConnection,
  table: CatalogTable,
  names: ReadonlyMap<string, string>,
): Promise<void> {
  const { rows } = await sql.query({
    text: `select id, to_json(column_names), undo from appdb.jobs
      where table_id = $1 and state in ('queued', 'running') for update`,
    values: [table.id],
  });
  for (const [id, columnNames, undo] of rows) {
    const renamed = (JSON.parse(columnNames ?? "[]") as string[]).map((name) => names.get(name) ?? name);
    const previousJobs = (JSON.parse(undo ?? "[]") as Undo[]).map(({ computed, ...column }) => ({
      ...column,
      computed: computed === null ? null : { ...computed, expr: renameInExpr(computed.expr, names) },
    }));
    await sql.query({
      text: "update appdb.jobs set table_name = $2, column_names = $3, undo = $4 where id = $1",
      values: [id ?? null, table.name, renamed, JSON.stringify(previousJobs)],
    });
  }
}
