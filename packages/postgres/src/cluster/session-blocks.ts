import { SESSION_PREFIX } from "@appdb/engine/catalog/reader-connections";
import type { SqlConnection } from "@appdb/engine/ports";
import { digitsOf } from "./reader-role.ts";

/** A connection that waits for a lock. */
export interface LockWait {
  readonly pid: number;
  readonly is_session: boolean;
  /** Connections that have the lock, or wait for it in front of this one. */
  readonly blockers: readonly number[];
  /** The table, if it waits for the lock of one. */
  readonly table: string | null;
  /** Whether it waits as changes of the schema do: readers and writers of the table do not block each other. */
  readonly is_change: boolean;
}

/** The transaction of a session, for which others wait. */
export interface BlockingTransaction {
  /** Identifies the transaction: PostgreSQL gives process ids again. */
  readonly id: string;
  readonly pid: number;
  /** Identifies its connection. */
  readonly connection: string;
  /** The role of its session. */
  readonly user: string;
  /** Whether everything that waits for it is a change of the schema. */
  readonly blocks_changes_only: boolean;
  /** Whether PostgreSQL works for it: it waits neither for its client nor for the next statement. */
  readonly is_running: boolean;
  readonly age_ms: number;
}

/** Locks that reads and writes of rows take on a table. */
const OF_ROWS = "'AccessShareLock', 'RowShareLock', 'RowExclusiveLock'";
const WAITS = "wait_event_type = 'Lock' and datname = current_database() and usename is not null";

/** Finds transactions of a database's sessions that make others wait, not sessions. `sql` is the superuser's. */
export async function findBlockingTransactions(
  sql: SqlConnection,
  database: string,
): Promise<readonly BlockingTransaction[]> {
  const prefix = `${SESSION_PREFIX}${digitsOf(database)}_`;
  // most often no one waits, and the locks are not read
  const first = await sql.query({
    text: `select pid from pg_stat_activity where ${WAITS} and not starts_with(usename, $1) limit 1`,
    values: [prefix],
  });
  if (first.rows.length === 0) return [];
  const waiting = await sql.query({
    text: `select coalesce(w.leader_pid, w.pid), starts_with(w.usename, $1),
        array_to_string(pg_blocking_pids(w.pid), ' '), case when l.locktype = 'relation' then l.relation end,
        l.locktype in ('relation', 'virtualxid') and l.mode not in (${OF_ROWS})
      from (select * from pg_stat_activity where ${WAITS}) as w join pg_locks as l on l.pid = w.pid and not l.granted`,
    values: [prefix],
  });
  const waits = waiting.rows.map(([pid, isSession, blockers, table, isChange]) => ({
    pid: Number(pid),
    is_session: isSession === "t",
    blockers: (blockers ?? "").split(" ").filter(Boolean).map(Number),
    table: table ?? null,
    is_change: isChange === "t",
  }));
  const roots = findRoots(waits);
  if (roots.size === 0) return [];
  const { rows } = await sql.query({
    text: `select pid, concat(pid, ' ', backend_start), xact_start, usename,
        state = 'active' and wait_event_type is distinct from 'Client',
        extract(epoch from clock_timestamp() - xact_start) * 1000
      from pg_stat_activity where pid = any ($1::int[]) and starts_with(usename, $2) and xact_start is not null`,
    values: [[...roots.keys()].map(String), prefix],
  });
  return rows.map(([pid, connection, began, user, isRunning, age]) => ({
    id: `${connection} ${began}`,
    pid: Number(pid),
    connection: connection ?? "",
    user: user ?? "",
    blocks_changes_only: roots.get(Number(pid)) ?? false,
    is_running: isRunning === "t",
    age_ms: Number(age),
  }));
}

/** Ends the connection of a transaction that has not ended meanwhile. Safe to repeat. */
export async function endTransaction(sql: SqlConnection, { id, pid }: BlockingTransaction): Promise<void> {
  await sql.query({
    text: `select pg_terminate_backend(pid) from pg_stat_activity
      where pid = $1 and concat(pid, ' ', backend_start, ' ', xact_start) = $2`,
    values: [String(pid), id],
  });
}

/**
 * The connections whose end would let connections without a session continue, and whether only changes of the schema
 * wait for them. A connection that itself waits is skipped, and those that it waits for are found instead. One kind of
 * them is found: it waits for a table, and others only wait in the queue behind its request.
 */
export function findRoots(waits: readonly LockWait[]): ReadonlyMap<number, boolean> {
  const waiting = new Map(waits.map((one) => [one.pid, one]));
  const roots = new Map<number, boolean>();
  const followed = new Set<number>();
  const follow = (wait: LockWait) => {
    if (followed.has(wait.pid)) return;
    followed.add(wait.pid);
    const inQueue = (pid: number) => wait.table !== null && waiting.get(pid)?.table === wait.table;
    const isQueue = wait.blockers.every(inQueue);
    for (const pid of wait.blockers) {
      const blocker = waiting.get(pid);
      const isFirst = isQueue && blocker?.blockers.every((other) => !inQueue(other));
      if (blocker === undefined || isFirst === true) roots.set(pid, (roots.get(pid) ?? true) && wait.is_change);
      else if (!inQueue(pid)) follow(blocker);
    }
  };
  for (const wait of waits) if (!wait.is_session) follow(wait);
  return roots;
}
