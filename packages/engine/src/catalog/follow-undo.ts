import type { SqlConnection } from "../ports.ts";
import { quoteIdent, quoteTable } from "../sql/quote.ts";
import { undoTable } from "./sql-names.ts";

/**
 * A recompute that may have to give former values back knows each row by the transaction that wrote it (`xmin`), and leaves
 * a row alone that somebody changed since. An update that rewrites rows must not count as somebody: it tells the job. All of
 * this runs in the update's transaction, under the lock that keeps everybody else off the table, before its rows change.
 */

/** A table as it is called at this moment, and the column that its rows are known by. */
interface Rows {
  readonly id: number;
  readonly folder: string;
  readonly name: string;
  readonly identity: string;
}

/** The tables of former values that jobs of a table have, quoted. Nearly always there is none. */
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

/** Rows that get a new version in this transaction stay known: all of them, or those with an error in one of `columns`. */
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

/** Former errors stand under the columns' names too: they move with a rename, and go with a column (`to` null). */
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
