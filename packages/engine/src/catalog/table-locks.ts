/**
 * How long a transaction that changes tables waits for each lock. PostgreSQL queues every reader behind whoever waits for a
 * table alone, so this is also how long a reader of one row may be held up; what the transaction does afterwards comes on top.
 */
export const LOCK_TIMEOUT_MS = 150;

/** Between two tries: longer than a try, so that a table which is in use for long is open to readers most of the time. */
export const LOCK_PAUSE_MS = 200;
