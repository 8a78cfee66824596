import { setTimeout as sleep } from "node:timers/promises";
import { deleteColumn, deleteIndex } from "../catalog/catalog-store.ts";
import { dropColumn, dropIndex } from "../catalog/ddl.ts";
import { hiddenIn } from "../catalog/hidden-columns.ts";
import { loadDefinitions } from "../catalog/load-catalog.ts";
import { LOCK_PAUSE_MS } from "../catalog/table-locks.ts";
import { WaitingChange } from "../catalog/waiting-change.ts";
import type { SqlConnection } from "../ports.ts";
import type { JobDeps } from "./job-deps.ts";

/**
 * Replaces an index, in one transaction with `finish`. The previous index is dropped, with the hidden column that only
 * it used. Waits until the table is free, without blocking others.
 */
export async function retireIndex(
  deps: Pick<JobDeps, "sql">,
  of: { readonly table_id: number; readonly index_id: number },
  finish: (sql: SqlConnection) => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  const change = new WaitingChange(deps.sql);
  for (;;) {
    const attempt = await change.attempt(async (connection) => {
      if (await finish(connection)) await dropReplaced(connection, of);
    });
    if ("result" in attempt) return;
    await sleep(LOCK_PAUSE_MS, undefined, { signal });
  }
}

async function dropReplaced(
  sql: SqlConnection,
  of: { readonly table_id: number; readonly index_id: number },
): Promise<void> {
  const table = (await loadDefinitions(sql)).tables.find((candidate) => candidate.id === of.table_id);
  const now = table?.indexes.find((index) => index.id === of.index_id);
  const previous = table?.indexes.find((index) => index.id === now?.replaces);
  if (table === undefined || previous === undefined) return;
  await sql.query({ text: dropIndex(table.folder, previous.sql_name, { concurrently: false }) });
  await deleteIndex(sql, previous.id);
  const used = hiddenIn(table.indexes.filter((index) => index.id !== previous.id));
  for (const column of table.columns) {
    if (column.is_hidden !== true || column.name !== previous.embedding?.values || used.has(column.name)) continue;
    for (const text of dropColumn(table, column.name)) await sql.query({ text });
    await deleteColumn(sql, column.id);
  }
}
