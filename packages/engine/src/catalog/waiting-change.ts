import { setTimeout as sleep } from "node:timers/promises";
import { SqlError, type SqlPool, type SqlTransaction } from "../ports.ts";
import { READS_FOR_SOMEONE, SESSION_PREFIX } from "./reader-connections.ts";
import { createLockWaits, type Holders } from "./table-locks.ts";

/** Limits of reads that a change of their table waits for. */
export interface ReadLimits {
  /** The age of a read that began before the change; the time that a statement has. */
  readonly read_ms: number;
  /** The age of one that began since. Less than a long attempt (`LONG_LOCK_TIMEOUT_MS`), which it cannot outlast. */
  readonly begun_ms: number;
}

export const READ_LIMITS: ReadLimits = { read_ms: 30_000, begun_ms: 2_000 };

/** Less than a short attempt, so that each one sees what it waits for. */
const LOOK_MS = 50;

/**
 * What the attempt waits for. A transaction that itself waits for a lock is left out. A read has written nothing, and its
 * locks are those of reads. Statements of psql count as reads. $2: for how many milliseconds the change has waited.
 */
const BLOCKERS = `select a.pid, a.xact_start, a.xact_start > clock_timestamp() - make_interval(secs => $2::float8 / 1000),
    extract(epoch from clock_timestamp() - a.xact_start) * 1000,
    a.state = 'active' and (starts_with(a.usename, '${SESSION_PREFIX}') or a.backend_xid is null and not exists (
      select from pg_locks l where l.pid = a.pid and l.locktype = 'relation' and l.granted and l.mode <> 'AccessShareLock')),
    ${READS_FOR_SOMEONE}
  from pg_stat_get_activity($1::int) me,
    unnest(case when me.wait_event_type = 'Lock' then pg_blocking_pids(me.pid) end) as blocker(pid)
    join pg_stat_activity a on a.pid = blocker.pid
  where a.wait_event_type is distinct from 'Lock'`;

/** Not a later transaction of the connection. */
const CANCEL = `select pg_cancel_backend(pid) from pg_stat_activity a
  where pid = $1 and xact_start = $2::timestamptz and ${READS_FOR_SOMEONE}`;

interface Blocker {
  readonly pid: string;
  readonly began: string;
  readonly is_new: boolean;
  readonly age_ms: number;
  readonly is_read: boolean;
  readonly can_end: boolean;
}

/**
 * A change that waits for its tables, over all its attempts. It waits for reads that began before it, while they are
 * not older than a limit. Those that begin later queue behind an attempt, or end soon when they alone hold the table.
 */
export class WaitingChange {
  readonly #sql: SqlPool;
  readonly #limits: ReadLimits;
  readonly #lockWait = createLockWaits();
  readonly #since = performance.now();
  readonly #ended = new Set<string>();
  #holders: Holders = "other";
  #awaitsReads = false;

  constructor(sql: SqlPool, limits = READ_LIMITS) {
    this.#sql = sql;
    this.#limits = limits;
  }

  /** Whether the last attempt waited only for reads, which end by their limits. */
  get awaits_reads(): boolean {
    return this.#awaitsReads;
  }

  /** Runs an attempt in a transaction. False when other transactions have locked the tables. @throws errors of `work` */
  async attempt<Result>(
    work: (connection: SqlTransaction) => Promise<Result>,
    settings = "",
  ): Promise<{ readonly result: Result } | { readonly conflict: SqlError }> {
    const lockMs = this.#lockWait(this.#holders);
    this.#holders = "other";
    this.#awaitsReads = false;
    const ending = new AbortController();
    let watching: Promise<unknown> | undefined;
    try {
      const result = await this.#sql.transaction((connection) => {
        // a failure counts only when the attempt fails, too
        watching = this.#watch(connection.process, ending.signal).catch((error: unknown) => error);
        return work(connection);
      }, `set local lock_timeout = ${lockMs}; ${settings}`);
      return { result };
    } catch (error) {
      if (!isLockConflict(error)) throw error;
      ending.abort();
      const failure = await watching;
      if (failure !== undefined) throw failure;
      return { conflict: error };
    } finally {
      ending.abort();
      await watching;
    }
  }

  async #watch(process: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const found = await this.#findBlockers(process);
      if (found.length === 0 || signal.aborted) continue;
      const areReads = found.every((one) => one.is_read);
      const areNew = found.every((one) => one.is_new);
      this.#awaitsReads = areReads && found.every((one) => one.can_end);
      this.#holders = "other";
      if (!areReads) continue;
      this.#holders = areNew ? "new" : "old";
      const mostMs = areNew ? this.#limits.begun_ms : this.#limits.read_ms;
      for (const one of found) if (one.can_end && one.age_ms >= mostMs) await this.#end(one);
    }
  }

  async #findBlockers(process: string): Promise<readonly Blocker[]> {
    const { rows } = await this.#sql.query({ text: BLOCKERS, values: [process, performance.now() - this.#since] });
    return rows.map(([pid, began, isNew, age, isRead, canEnd]) => ({
      pid: pid ?? "",
      began: began ?? "",
      is_new: isNew === "t",
      age_ms: Number(age),
      is_read: isRead === "t",
      can_end: canEnd === "t",
    }));
  }

  async #end({ began, pid }: Blocker): Promise<void> {
    const id = `${pid} ${began}`;
    if (this.#ended.has(id)) return;
    this.#ended.add(id);
    await this.#sql.query({ text: CANCEL, values: [pid, began] });
  }
}

function isLockConflict(error: unknown): error is SqlError {
  return error instanceof SqlError && (error.sqlstate === "55P03" || error.sqlstate === "40P01");
}
