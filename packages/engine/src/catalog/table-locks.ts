/**
 * Maximum wait for each lock of a transaction that changes tables. PostgreSQL queues every reader behind a waiting
 * exclusive lock. So this is also how long a reader may wait, plus the duration of the transaction.
 */
export const LOCK_TIMEOUT_MS = 150;

/** Pause between two attempts. It is longer than an attempt, so that a busy table is open to readers most of the
 *  time. */
export const LOCK_PAUSE_MS = 200;
