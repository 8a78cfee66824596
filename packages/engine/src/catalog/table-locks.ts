import type { SqlConnection } from "../ports.ts";

/**
 * Maximum wait for each lock of a transaction that changes tables. PostgreSQL queues every reader behind a waiting
 * exclusive lock. So this is also how long a reader may wait, plus the duration of the transaction.
 */
export const LOCK_TIMEOUT_MS = 150;

/** A lock for which a change has waited in turns for so long is requested for `LONG_LOCK_TIMEOUT_MS` once, then again
 *  after twice the time, up to a maximum: what works on must not stop readers often. */
const LONG_LOCK_AFTER_MS = 4_000;
const MAX_LONG_LOCK_AFTER_MS = 64_000;

/**
 * Statements that overlap can hold a table at every short attempt. During a long one they queue behind it, and the change
 * has its lock when those end that run. Longer than a read that began while the change waits may hold it (`BEGUN_MS`).
 */
export const LONG_LOCK_TIMEOUT_MS = 2_500;

/** Pause between two attempts. It is longer than an attempt, so that a busy table is open to readers most of the
 *  time. */
export const LOCK_PAUSE_MS = 200;

/**
 * What a change of tables waits for, as its last attempt saw it. `old`: reads, one of which began before the change.
 * `new`: only reads that began since. `other`: also something else, or nothing that was seen.
 */
export type Holders = "old" | "new" | "other";

/**
 * The maximum wait for each lock, by the attempts of one change. Most are short. One is long when it can succeed, because
 * reads that begin now queue behind it, and also after some seconds if other statements than reads hold the table.
 */
export function createLockWaits(now: () => number = () => performance.now()): (holders: Holders) => number {
  let afterMs = LONG_LOCK_AFTER_MS;
  let longAt = now() + afterMs;
  let wasLong = false;
  return (holders) => {
    const isDue = holders === "other" ? now() >= longAt : holders === "new" && !wasLong;
    wasLong = isDue;
    if (!isDue) return LOCK_TIMEOUT_MS;
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
