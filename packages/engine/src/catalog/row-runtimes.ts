import type { SqlConnection } from "../ports.ts";

/**
 * Rows of an iterator view are made with those of the table below all views, so they are made by its runtime. Each change
 * of a view stores its runtime for that table too, but a change without functions stores none for a new view.
 */

/** The runtime that makes the rows of a table or iterator view; null without one. */
export async function runtimeOfRows(sql: SqlConnection, tableId: number): Promise<string | null> {
  const { rows } = await sql.query({
    text: `with recursive below as (
        select folder, runtime_id, rows_of from appdb.tables where id = $1 union all
        select t.folder, t.runtime_id, t.rows_of from below b
          join appdb.tables t on t.folder = b.folder and t.name = b.rows_of ->> 'table')
      select runtime_id from below where rows_of is null`,
    values: [tableId],
  });
  return rows[0]?.[0] ?? null;
}

/** Names of a folder's tables and iterator views whose rows this runtime makes. */
export async function tablesOfRuntime(
  sql: SqlConnection,
  folder: string,
  runtimeId: string | null,
): Promise<Set<string>> {
  const { rows } = await sql.query({
    text: `with recursive made as (
        select name from appdb.tables where folder = $1 and rows_of is null and runtime_id is not distinct from $2 union all
        select t.name from made m join appdb.tables t on t.folder = $1 and t.rows_of ->> 'table' = m.name)
      select name from made`,
    values: [folder, runtimeId],
  });
  return new Set(rows.map(([name]) => name ?? ""));
}
