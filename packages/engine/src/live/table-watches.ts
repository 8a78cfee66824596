import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import type { Logger, SqlPool } from "../ports.ts";
import { isShapeRefusal } from "../write/sql-refusals.ts";
import { ChangeAssembler, type LiveChange } from "./change-message.ts";
import { findForgotten, renewWatches, unwatchTable, WATCH_S, type WatchedTable, watchTable } from "./live-triggers.ts";

/** The channel on which `appdb.tell_live` reports commits that touch watched tables. */
export const LIVE_CHANNEL = "appdb_live";
/** A third of the time after which a watch expires. */
const RENEW_MS = (WATCH_S * 1000) / 3;
/** Pause before the next search for possibly missed commits. */
const AGAIN_MS = 1_000;
/** Pauses between attempts to lock a table. */
const BUSY_PAUSE_MS = 50;
const MAX_ATTEMPTS = 10;

interface Watch {
  readonly table: WatchedTable;
  readonly columns: Set<string>;
  /** Number of live queries that use the table. */
  users: number;
  /** Settles when the table is watched with these columns. */
  ready: Promise<void>;
  has_failed: boolean;
}

export interface TableWatchesDeps {
  readonly sql: SqlPool;
  readonly log: Logger;
  onChange(change: LiveChange): void;
  /** Called when commits may have been missed. */
  onGap(): void;
  /** Interval of watch maintenance. */
  readonly renew_ms?: number;
}

/** Makes PostgreSQL send notifications of commits while tables are in use. The triggers of a table are active only
 *  during this time. */
export class TableWatches implements AsyncDisposable {
  readonly #deps: TableWatchesDeps;
  readonly #owner = randomUUID();
  readonly #watches = new Map<number, Watch>();
  readonly #stop = new AbortController();
  #listening: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #again: NodeJS.Timeout | undefined;
  /** Trigger changes run in sequence. Otherwise the end of one use could disable the triggers of a new one. */
  #doing: Promise<unknown> = Promise.resolve();
  #hasGap = false;

  constructor(deps: TableWatchesDeps) {
    this.#deps = deps;
  }

  /** Resolves when each later commit will send a notification. The caller must call `leave` even after an error.
   *  @throws database_unavailable, overloaded when a transaction holds the table */
  async use(table: WatchedTable, columns: readonly string[]): Promise<void> {
    this.#listening ??= this.#listen();
    const known = this.#watches.get(table.id);
    const watch = known ?? { table, columns: new Set(), users: 0, ready: Promise.resolve(), has_failed: false };
    watch.users += 1;
    this.#watches.set(table.id, watch);
    const isNew = known === undefined || watch.has_failed || columns.some((column) => !watch.columns.has(column));
    for (const column of columns) watch.columns.add(column);
    if (isNew) watch.ready = this.#exclusive(() => this.#watch(watch));
    await this.#listening;
    await watch.ready;
  }

  /** The watch stays until the next maintenance, so a reader that returns soon still finds it. */
  leave(table: WatchedTable): void {
    const watch = this.#watches.get(table.id);
    if (watch !== undefined) watch.users -= 1;
  }

  async #watch(watch: Watch): Promise<void> {
    watch.has_failed = true;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      if (await watchTable(this.#deps.sql, this.#owner, watch.table, [...watch.columns])) {
        watch.has_failed = false;
        return;
      }
      await sleep(BUSY_PAUSE_MS);
    }
    throw appError("overloaded", {
      detail: `A long transaction holds the table ${watch.table.name}, so its changes cannot be watched yet.`,
      hint: "Open the stream again in a moment. To find the transaction (psql): select * from pg_stat_activity",
      meta: { table: watch.table.name },
    });
  }

  async #listen(): Promise<void> {
    const reader = new ChangeAssembler();
    const onNotify = (payload: string): void => {
      if (payload === "") void this.#renew(true);
      else {
        const change = reader.read(payload);
        if (change !== undefined) this.#deps.onChange(change);
      }
    };
    try {
      await this.#deps.sql.listen(LIVE_CHANNEL, onNotify, this.#stop.signal);
    } catch (error) {
      this.#listening = undefined;
      throw error;
    }
    this.#timer ??= setInterval(() => void this.#renew(false), this.#deps.renew_ms ?? RENEW_MS).unref();
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#doing.then(work);
    this.#doing = done.catch(() => undefined);
    return done;
  }

  async #renew(hasGap: boolean): Promise<void> {
    this.#hasGap ||= hasGap;
    try {
      await this.#exclusive(() => this.#poll());
    } catch (error) {
      this.#deps.log.debug({ err: error }, "watches could not be renewed");
      if (!this.#hasGap || this.#stop.signal.aborted) return;
      clearTimeout(this.#again);
      this.#again = setTimeout(() => void this.#renew(true), AGAIN_MS).unref();
    }
  }

  /** Renews used watches, and ends unused watches and those of dead services. */
  async #poll(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const { sql } = this.#deps;
    const renewed = await renewWatches(sql, this.#owner);
    if (this.#hasGap) this.#deps.onGap();
    this.#hasGap = false;
    const lost = [...this.#watches.values()].filter(({ table, users }) => users > 0 && !renewed.has(table.id));
    for (const watch of lost) await this.#watch(watch);
    if (lost.length > 0) this.#deps.onGap();
    for (const watch of [...this.#watches.values()]) if (watch.users === 0) await this.#end(watch);
    for (const table of await findForgotten(sql)) await unwatchTable(sql, this.#owner, table);
  }

  /** A locked table waits for the next round, unless it is in use again. @throws database_unavailable */
  async #end(watch: Watch): Promise<void> {
    const { id } = watch.table;
    this.#watches.delete(id);
    let hasEnded = false;
    try {
      hasEnded = await unwatchTable(this.#deps.sql, this.#owner, watch.table);
    } catch (error) {
      if (!isShapeRefusal(error)) throw error;
      hasEnded = true;
    } finally {
      // The owner keeps renewing the watch, so it never expires for other services.
      if (!hasEnded && !this.#watches.has(id)) this.#watches.set(id, Object.assign(watch, { has_failed: true }));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    clearInterval(this.#timer);
    clearTimeout(this.#again);
    await this.#doing;
    for (const watch of [...this.#watches.values()]) {
      await this.#end(watch).catch((error: unknown) => {
        // Other services end it when it expires.
        this.#deps.log.warn({ err: error, table: watch.table.name }, "a watch could not be ended");
      });
    }
  }
}
