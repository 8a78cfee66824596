import type { SqlConnection } from "../ports.ts";

/**
 * Maximum wait for each lock of a transaction that changes tables. PostgreSQL queues every reader behind a waiting
 * exclusive lock. So this is also how long a reader may wait, plus the duration of the transaction.
 */
export const LOCK_TIMEOUT_MS = 150;

/** Pause between two attempts. It is longer than an attempt, so that a busy table is open to readers most of the
 *  time. */
export const LOCK_PAUSE_MS = 200;

const IS_BLOCKING =
  "select exists (select from pg_catalog.pg_locks where not granted and locktype = 'relation' and $1::int = any (pg_catalog.pg_blocking_pids(pid)))";

/** Whether a change of a table waits for a transaction. `process` is PostgreSQL's; `sql` is another connection. */
export async function blocksChange(sql: SqlConnection, process: string): Promise<boolean> {
  const { rows } = await sql.query({ text: IS_BLOCKING, values: [process] });
  return rows[0]?.[0] === "t";
}
