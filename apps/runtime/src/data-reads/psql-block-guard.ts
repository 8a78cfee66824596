import { setTimeout as sleep } from "node:timers/promises";
import type { Logger, SqlPool } from "@appdb/engine/ports";
import { createPgPool } from "@appdb/postgres/client/pg-pool";
import {
  type BlockingTransaction,
  endTransaction,
  findBlockingTransactions,
} from "@appdb/postgres/cluster/session-blocks";

/** Shorter than a wait of a change for its lock (`LOCK_TIMEOUT_MS`), so that each wait is seen. */
const LOOK_MS = 100;
/** Pause after an error, such as that of a PostgreSQL that restarts. */
const AGAIN_MS = 2_000;
/** A transaction is forgotten when it was not seen for so long. Changes pause between their waits. */
const FORGET_MS = 3_000;
const STATEMENT_MS = 10_000;

export interface BlockLimits {
  /** A transaction may make others wait for so long. */
  readonly blocking_ms: number;
  /** While it runs a statement, a transaction may make changes of the schema wait until it is so old. Changes cancel
   *  such statements themselves (`WaitingChange`), so that only one that does not end gets here. */
  readonly running_ms: number;
}

export interface PsqlBlockGuardDeps {
  readonly database: string;
  readonly application_name: string;
  readonly limits: BlockLimits;
  readonly log: Logger;
  /** Called before connections are ended, again for those that are slow to end. */
  onEnd(blocking: readonly BlockingTransaction[]): void;
}

interface Seen {
  first_at: number;
  last_at: number;
}

/**
 * Ends connections of psql's sessions whose transactions make others wait. It looks at the waits themselves: changes of
 * the schema and the ends of jobs wait for a moment at a time, again and again.
 */
export class PsqlBlockGuard {
  readonly #deps: PsqlBlockGuardDeps;
  #watching: AbortController | undefined;

  constructor(deps: PsqlBlockGuardDeps) {
    this.#deps = deps;
  }

  /** Begins to watch. Safe to repeat. `dsn` is the superuser's. */
  start(dsn: string): void {
    if (this.#watching !== undefined) return;
    this.#watching = new AbortController();
    void this.#watch(dsn, this.#watching.signal);
  }

  stop(): void {
    this.#watching?.abort();
    this.#watching = undefined;
  }

  async #watch(dsn: string, signal: AbortSignal): Promise<void> {
    const { application_name, log } = this.#deps;
    const options = { max: 1, statement_timeout_ms: STATEMENT_MS, application_name, log };
    await using sql = createPgPool({ dsn, ...options });
    const seen = new Map<string, Seen>();
    // most sessions end before they are looked at
    let pause = LOOK_MS;
    for (;;) {
      await sleep(pause, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.#look(sql, seen);
        pause = LOOK_MS;
      } catch (error) {
        pause = AGAIN_MS;
        if (!signal.aborted) log.warn({ err: error }, "connections that others wait for were not ended");
      }
    }
  }

  async #look(sql: SqlPool, seen: Map<string, Seen>): Promise<void> {
    const { database, limits, log, onEnd } = this.#deps;
    const found = await findBlockingTransactions(sql, database);
    const now = performance.now();
    const ending: BlockingTransaction[] = [];
    for (const one of found) {
      if (mayBlock(one, limits)) {
        seen.delete(one.id);
        continue;
      }
      const known = seen.get(one.id) ?? { first_at: now, last_at: now };
      seen.set(one.id, known);
      known.last_at = now;
      if (now - known.first_at < limits.blocking_ms) continue;
      // one that is slow to end is ended again
      known.first_at = now;
      ending.push(one);
    }
    // its client may close the session as soon as the connection ends
    if (ending.length > 0) onEnd(ending);
    for (const one of ending) {
      await endTransaction(sql, one);
      log.info({ user: one.user }, "a connection that others waited for was ended");
    }
    for (const [id, { last_at: at }] of seen) if (now - at > FORGET_MS) seen.delete(id);
  }
}

/** A statement that runs has its time, as those of `cli query` have. Readers and writers of rows do not wait for it. */
function mayBlock(one: BlockingTransaction, { running_ms: runningMs }: BlockLimits): boolean {
  return one.blocks_changes_only && one.is_running && one.age_ms < runningMs;
}
