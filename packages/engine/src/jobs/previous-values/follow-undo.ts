import { undoTable } from "../../catalog/sql-names.ts";
import type { SqlConnection } from "../../ports.ts";
import { quoteIdent, quoteTable } from "../../sql/quote.ts";

/**
 * A recompute that may have to restore previous values tracks each row by its last writer transaction (`xmin`). It
 * leaves rows alone that others changed. An update that rewrites rows must not count as such a change, so it informs
 * the job here. All of this runs in the update's transaction before its rows change, under an exclusive lock on the
 * table.
 */

/** A table under its current name, and its identity column. */
interface Rows {
  readonly id: number;
  readonly folder: string;
  readonly name: string;
  readonly identity: string;
}

/** The quoted undo tables of a table's jobs. Nearly always there are none. */
export async function undoTablesOf(sql: SqlConnection, tableId: number): Promise<readonly string[]> {
  const { rows } = await sql.query({
    text: "select id from appdb.jobs where table_id = $1 and state in ('queued', 'running') order by seq",
    values: [tableId],
  });
  const found: string[] = [];
  for (const [id] of rows) {
    const undo = undoTable(id ?? "");
    const there = await sql.query({ text: "select to_regclass($1) is not null", values: [undo] });
    if (there.rows[0]?.[0] === "t") found.push(undo);
  }
  return found;
}

/** Keeps track of rows that get a new version in this transaction: all, or those with an error in one of `columns`. */
export async function followRewrite(
  sql: SqlConnection,
  undo: string,
  rows: Rows,
  columns: readonly string[] | "all",
): Promise<void> {
  await sql.query({
    text: `update ${undo} as u set "#xid" = pg_current_xact_id()::xid from ${quoteTable(rows)} as t
      where t.${quoteIdent(rows.identity)} = u."#id" and t.xmin = u."#xid"
        and ($1::text[] is null or t._errors ?| $1::text[])`,
    values: [columns === "all" ? null : [...columns]],
  });
}

/** Stored errors are keyed by column name. They move with a rename and are deleted with a column (`to` null). */
export async function followErrors(
  sql: SqlConnection,
  undo: string,
  columns: readonly { readonly from: string; readonly to: string | null }[],
): Promise<void> {
  await sql.query({
    text: `update ${undo} set "#errors" = (
        select jsonb_object_agg(coalesce(m.becomes, e.key), e.value) from jsonb_each("#errors") e
        left join unnest($1::text[], $2::text[]) as m(was, becomes) on m.was = e.key
        where m.was is null or m.becomes is not null)
      where "#errors" ?| $1::text[]`,
    values: [columns.map((column) => column.from), columns.map((column) => column.to)],
  });
}
