import type { SqlConnection } from "../ports.ts";

/**
 * Maximum wait for each lock of a transaction that changes tables. PostgreSQL queues every reader behind a waiting
 * exclusive lock. So this is also how long a reader may wait, plus the duration of the transaction.
 */
export const LOCK_TIMEOUT_MS = 150;

/** A lock for which a change has waited in turns for so long is requested for `LONG_LOCK_TIMEOUT_MS` once, then again
 *  after twice the time, up to a maximum: a long reader must not stop other readers often. */
const LONG_LOCK_AFTER_MS = 4_000;
const MAX_LONG_LOCK_AFTER_MS = 64_000;

/**
 * Statements that overlap can hold a table at every short attempt. During a long one they queue behind it, and the change
 * has its lock when those end that run. Longer than a statement of psql's sessions may hold it (`begun_ms`).
 */
export const LONG_LOCK_TIMEOUT_MS = 2_500;

/** Pause between two attempts. It is longer than an attempt, so that a busy table is open to readers most of the
 *  time. */
export const LOCK_PAUSE_MS = 200;

/** The maximum wait for each lock, by the attempts of one change: most are short, and a long one comes after some seconds. */
export function createLockWaits(now: () => number = () => performance.now()): () => number {
  let afterMs = LONG_LOCK_AFTER_MS;
  let longAt = now() + afterMs;
  return () => {
    if (now() < longAt) return LOCK_TIMEOUT_MS;
    afterMs = Math.min(2 * afterMs, MAX_LONG_LOCK_AFTER_MS);
    longAt = now() + LONG_LOCK_TIMEOUT_MS + afterMs;
    return LONG_LOCK_TIMEOUT_MS;
  };
}

const IS_BLOCKING =
  "select exists (select from pg_catalog.pg_locks where not granted and locktype = 'relation' and $1::int = any (pg_catalog.pg_blocking_pids(pid)))";

/** Whether a change of a table waits for a transaction. `process` is PostgreSQL's; `sql` is another connection. */
export async function blocksChange(sql: SqlConnection, process: string): Promise<boolean> {
  const { rows } = await sql.query({ text: IS_BLOCKING, values: [process] });
  return rows[0]?.[0] === "t";
}
