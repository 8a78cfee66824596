import type { Expr } from "@appdb/contract/expressions";
import type { OnError } from "@appdb/contract/jobs";
import type { ManifestColumn, ManifestFunction, ManifestTable } from "@appdb/contract/manifest";
import type { SqlConnection } from "../ports.ts";
import { storableText } from "../sql/quote.ts";
import type { CatalogColumn } from "./catalog.ts";
import { CATALOG_CHANNEL, JOBS_CHANNEL } from "./load-catalog.ts";
import type { PlannedIndex } from "./operations.ts";
import { indexName, undoTable } from "./sql-names.ts";

/** Writers of catalog rows. All run inside the transaction of an update or of a job's last step. */

/** Locks the catalog for changes until the transaction ends. Returns its current version. */
export async function lockCatalog(sql: SqlConnection): Promise<number> {
  const { rows } = await sql.query({ text: "select version from appdb.state for update" });
  return Number(rows[0]?.[0]);
}

/** Increments the catalog version and notifies all processes with a cached catalog. */
export async function bumpCatalog(sql: SqlConnection, tableIds: readonly number[]): Promise<number> {
  await sql.query({
    text: "update appdb.tables set version = version + 1 where id = any($1::bigint[])",
    values: [tableIds],
  });
  const { rows } = await sql.query({ text: "update appdb.state set version = version + 1 returning version" });
  const version = Number(rows[0]?.[0]);
  await sql.query({ text: "select pg_notify($1, $2)", values: [CATALOG_CHANNEL, String(version)] });
  return version;
}

export async function insertTable(
  sql: SqlConnection,
  folder: string,
  to: ManifestTable,
  identity: string,
  runtimeId: string | null,
): Promise<number> {
  const { rows } = await sql.query({
    text: `insert into appdb.tables
      (folder, name, model, comment, custom_metadata, primary_key, has_default_idxs, identity, runtime_id, rows_of)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) returning id`,
    values: [
      folder,
      to.name,
      to.model,
      commentOf(to),
      jsonOf(to.custom_metadata),
      [...to.primary_key],
      to.has_default_idxs,
      identity,
      runtimeId,
      jsonOf(to.rows_of),
    ],
  });
  return Number(rows[0]?.[0]);
}

export async function updateTable(sql: SqlConnection, id: number, to: ManifestTable): Promise<void> {
  await sql.query({
    text: `update appdb.tables set model = $2, comment = $3, custom_metadata = $4, has_default_idxs = $5 where id = $1`,
    values: [id, to.model, commentOf(to), jsonOf(to.custom_metadata), to.has_default_idxs],
  });
}

/**
 * Stores the runtime of the functions of these tables' columns; later jobs use it. A local update also stores its
 * project.
 */
export async function rememberRuntime(
  sql: SqlConnection,
  folder: string,
  tables: readonly ManifestTable[],
  by: { readonly runtime_id: string | null; readonly project?: string | undefined },
): Promise<void> {
  await sql.query({
    text: `update appdb.tables set runtime_id = coalesce($3, runtime_id), project = coalesce($4, project)
      where folder = $1 and name = any($2::text[])
        and (runtime_id, project) is distinct from (coalesce($3, runtime_id), coalesce($4, project))`,
    values: [folder, tables.map((table) => table.name), by.runtime_id, by.project ?? null],
  });
}

/** Stores what makes the rows of iterator views, under the current names. */
export async function rememberRowsOf(
  sql: SqlConnection,
  folder: string,
  tables: readonly ManifestTable[],
): Promise<void> {
  const views = tables.filter((table) => table.rows_of !== undefined);
  await sql.query({
    text: `update appdb.tables t set rows_of = m.rows_of from unnest($2::text[], $3::json[]) as m(name, rows_of)
      where t.folder = $1 and t.name = m.name and t.rows_of::text is distinct from m.rows_of::text`,
    values: [folder, views.map(({ name }) => name), views.map(({ rows_of: rowsOf }) => jsonOf(rowsOf))],
  });
}

/** The runtime of the functions of a table's columns; null before the first update. */
export async function readRuntime(sql: SqlConnection, tableId: number): Promise<string | null> {
  const { rows } = await sql.query({ text: "select runtime_id from appdb.tables where id = $1", values: [tableId] });
  return rows[0]?.[0] ?? null;
}

/** All runtimes in use, by tables or by unfinished jobs. */
export async function listRuntimes(sql: SqlConnection): Promise<string[]> {
  const { rows } = await sql.query({
    text: `select runtime_id from appdb.tables where runtime_id is not null union
      select runtime_id from appdb.jobs where runtime_id is not null and state in ('queued', 'running') order by 1`,
  });
  return rows.map(([id]) => id ?? "");
}

/** Deletes a table with its columns and indexes. Its queued work ends. */
export async function deleteTable(sql: SqlConnection, id: number): Promise<void> {
  const { rows } = await sql.query({
    text: `update appdb.jobs set state = 'cancelled', ended_at = now(), owner = null, lease_until = null
      where table_id = $1 and state in ('queued', 'running') returning id`,
    values: [id],
  });
  // Previous values that such a job kept.
  for (const [job] of rows) await sql.query({ text: `drop table if exists ${undoTable(job ?? "")}` });
  await sql.query({ text: "delete from appdb.tables where id = $1", values: [id] });
}

/** Stores the renames that the applied file declares. They are done, and will not be done again. */
export async function rememberRenames(
  sql: SqlConnection,
  folder: string,
  tables: readonly ManifestTable[],
): Promise<void> {
  await sql.query({
    text: `update appdb.tables t set renamed_from = m.was from unnest($2::text[], $3::text[]) as m(name, was)
      where t.folder = $1 and t.name = m.name and t.renamed_from is distinct from m.was`,
    values: [folder, tables.map((table) => table.name), tables.map((table) => table.renamed_from)],
  });
  const columns = tables.flatMap((table) => table.columns.map((column) => ({ table: table.name, ...column })));
  await sql.query({
    text: `update appdb.columns c set renamed_from = m.was
      from appdb.tables t, unnest($2::text[], $3::text[], $4::text[]) as m(table_name, name, was)
      where t.folder = $1 and t.name = m.table_name and c.table_id = t.id and c.name = m.name
        and c.renamed_from is distinct from m.was`,
    values: [
      folder,
      columns.map((column) => column.table),
      columns.map((column) => column.name),
      columns.map((column) => column.renamed_from),
    ],
  });
}

export async function insertColumn(
  sql: SqlConnection,
  tableId: number,
  to: Omit<ManifestColumn, "source">,
  state: CatalogColumn["state"],
): Promise<number> {
  const { rows } = await sql.query({
    text: `insert into appdb.columns
      (table_id, name, type, nullable, primary_key, computed, state, comment, custom_metadata, is_hidden, default_value)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) returning id`,
    values: [
      tableId,
      to.name,
      jsonOf(to.type),
      to.nullable,
      to.primary_key,
      to.computed === null ? null : jsonOf(to.computed),
      state,
      commentOf(to),
      jsonOf(to.custom_metadata),
      to.is_hidden ?? false,
      jsonOf(to.default),
    ],
  });
  return Number(rows[0]?.[0]);
}

/** Updates the changeable parts of a column. A changed expression is no longer stale; its recompute is queued. */
export async function updateColumn(sql: SqlConnection, id: number, to: ManifestColumn): Promise<void> {
  await sql.query({
    text: `update appdb.columns
      set nullable = $2, computed = $3, comment = $4, custom_metadata = $5, type = $6, default_value = $7, stale = false
      where id = $1`,
    values: [
      id,
      to.nullable,
      to.computed === null ? null : jsonOf(to.computed),
      commentOf(to),
      jsonOf(to.custom_metadata),
      jsonOf(to.type),
      jsonOf(to.default),
    ],
  });
}

/** Stores the expression of a computed column, if it is another one. Returns whether it is. */
export async function storeExpression(
  sql: SqlConnection,
  { id, computed }: Pick<CatalogColumn, "id" | "computed">,
  expr: Expr,
): Promise<boolean> {
  const { row_count: rowCount } = await sql.query({
    text: "update appdb.columns set computed = $2::json where id = $1 and computed::jsonb is distinct from $2::jsonb",
    values: [id, JSON.stringify({ ...computed, expr })],
  });
  return rowCount > 0;
}

/** Gives a column the type of the shadow that took its place. */
export async function storeType(
  sql: SqlConnection,
  id: number,
  { type, nullable }: Pick<CatalogColumn, "type" | "nullable">,
): Promise<void> {
  const values = [id, jsonOf(type), nullable];
  await sql.query({ text: "update appdb.columns set type = $2, nullable = $3 where id = $1", values });
}

/** Hides a column until its fill has ended. */
export async function markFilling(sql: SqlConnection, id: number): Promise<void> {
  await sql.query({ text: "update appdb.columns set state = 'filling' where id = $1", values: [id] });
}

/** Restores the previous expression after a failed recompute. `isStale`: some values come from the newer expression.
 *  If a later update is queued to recompute the column, its expression stays. */
export async function restoreColumn(
  sql: SqlConnection,
  previous: Pick<CatalogColumn, "id" | "computed" | "nullable">,
  isStale: boolean,
): Promise<void> {
  await sql.query({
    text: `update appdb.columns set computed = $2, nullable = $3, stale = $4 where id = $1 and not exists (
      select from appdb.jobs where state in ('queued', 'running') and kind <> 'close_pending' and $1 = any(column_ids))`,
    values: [previous.id, jsonOf(previous.computed), previous.nullable, isStale],
  });
}

/** Marks that some rows were recomputed and others were not. */
export async function markStale(sql: SqlConnection, id: number): Promise<void> {
  await sql.query({ text: "update appdb.columns set stale = true where id = $1", values: [id] });
}

/** Deletes a column and removes it from the jobs that would compute it. */
export async function deleteColumn(sql: SqlConnection, id: number): Promise<void> {
  await sql.query({ text: "delete from appdb.columns where id = $1", values: [id] });
  await leaveJobs(sql, id);
}

/** Removes a column from the jobs that would compute it. A job without columns ends. */
export async function leaveJobs(sql: SqlConnection, id: number): Promise<void> {
  await sql.query({
    text: `update appdb.jobs set column_ids = array_remove(column_ids, $1),
        state = case when array_remove(column_ids, $1) = '{}' then 'done' else state end,
        ended_at = case when array_remove(column_ids, $1) = '{}' then now() else ended_at end
      where state in ('queued', 'running') and $1 = any(column_ids)`,
    values: [id],
  });
}

export async function insertIndex(
  sql: SqlConnection,
  table: { readonly id: number; readonly name: string },
  index: PlannedIndex,
  state: "ready" | "building",
  replaces: number | null = null,
): Promise<number> {
  const { values = null, ...options } = index.embedding ?? {};
  const { rows } = await sql.query({
    text: `insert into appdb.indexes (table_id, kind, name, sql_name, columns, state, embedding, values_id, replaces)
      values ($1, $2, $3, $4, $5, $6, $7, (select id from appdb.columns where table_id = $1 and name = $8), $9)
      returning id`,
    values: [
      table.id,
      index.kind,
      index.name,
      indexName(table.name, index),
      [...index.columns],
      state,
      index.embedding == null ? null : jsonOf(options),
      values,
      replaces,
    ],
  });
  return Number(rows[0]?.[0]);
}

/** Writes other functions for values of other kinds. */
export async function updateIndex(sql: SqlConnection, id: number, { embedding }: PlannedIndex): Promise<void> {
  const { values: _values, ...options } = embedding ?? { values: null };
  await sql.query({ text: "update appdb.indexes set embedding = $2 where id = $1", values: [id, jsonOf(options)] });
}

/** Marks an index over a recreated column as missing until a job has rebuilt it. */
export async function markBuilding(sql: SqlConnection, id: number): Promise<void> {
  await sql.query({ text: "update appdb.indexes set state = 'building' where id = $1", values: [id] });
}

export async function deleteIndex(sql: SqlConnection, id: number): Promise<void> {
  await sql.query({ text: "delete from appdb.indexes where id = $1", values: [id] });
  await sql.query({
    text: `update appdb.jobs set state = 'done', ended_at = now()
      where index_id = $1 and state in ('queued', 'running')`,
    values: [id],
  });
}

/** Registers the functions of an application with the digests of their code (codeDigests). */
export async function upsertFunctions(
  sql: SqlConnection,
  functions: readonly ManifestFunction[],
  digests: ReadonlyMap<string, string>,
): Promise<void> {
  if (functions.length === 0) return;
  await sql.query({
    text: `insert into appdb.functions as f (id, module, name, digest)
      select * from unnest($1::text[], $2::text[], $3::text[], $4::text[])
      on conflict (id) do update set module = excluded.module, name = excluded.name, digest = excluded.digest
      where (f.module, f.name, f.digest) is distinct from (excluded.module, excluded.name, excluded.digest)`,
    values: [
      functions.map((fn) => fn.id),
      functions.map((fn) => fn.module),
      functions.map((fn) => fn.name),
      functions.map((fn) => digests.get(fn.id) ?? fn.digest),
    ],
  });
}

export interface NewJob {
  readonly kind: "fill" | "recompute" | "build_index";
  readonly table_id: number;
  readonly column_ids: readonly number[];
  readonly index_id: number | null;
  readonly table_name: string;
  readonly column_names: readonly string[];
  /** Definitions to restore when a recompute fails. */
  readonly undo: readonly Pick<CatalogColumn, "id" | "computed" | "nullable">[];
  /** Null: the runtime of the table's last update. */
  readonly runtime_id: string | null;
  /** The handling of failed cells. `abort` (the default): the job ends and is undone. `ignore`: the cell stays null
   *  with its error. */
  readonly on_error?: OnError;
  /** Only rows with an error in a cell of these columns. */
  readonly errors_only?: boolean;
}

/** Queues a job in the transaction that requires it, and wakes the runners after the commit. The job has the digests of
 *  the functions' code, which it computes with also when an update changes them before it ends. */
export async function insertJob(sql: SqlConnection, job: NewJob): Promise<string> {
  const { rows } = await sql.query({
    text: `insert into appdb.jobs
      (kind, table_id, column_ids, index_id, table_name, column_names, undo, on_error, errors_only, runtime_id, incarnation, code)
      select $1, $2, $3, $4, $5, $6, $7, $9, $10,
        coalesce($8, (select runtime_id from appdb.tables where id = $2::bigint)), incarnation,
        (select json_object_agg(f.id, f.digest) from appdb.functions f where exists (
          select from appdb.columns c where c.id = any($3) and strpos(c.computed::text, to_json(f.id)::text) > 0))
      from appdb.state returning id`,
    values: [
      job.kind,
      job.table_id,
      [...job.column_ids],
      job.index_id,
      job.table_name,
      [...job.column_names],
      jsonOf(job.undo),
      job.runtime_id,
      job.on_error ?? "abort",
      job.errors_only ?? false,
    ],
  });
  await sql.query({ text: "select pg_notify($1, '')", values: [JOBS_CHANNEL] });
  const id = rows[0]?.[0];
  if (id == null) throw new Error("appdb.state has no row: the catalog is damaged");
  return id;
}

/** Allows jobs that have not started to leave errors in cells. */
export async function ignoreErrorsOfJobs(sql: SqlConnection, jobs: readonly string[]): Promise<void> {
  await sql.query({
    text: "update appdb.jobs set on_error = 'ignore' where id = any($1::uuid[])",
    values: [[...jobs]],
  });
}

function commentOf(of: { readonly comment: string | null }): string | null {
  return of.comment === null ? null : storableText(of.comment);
}

function jsonOf(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}
