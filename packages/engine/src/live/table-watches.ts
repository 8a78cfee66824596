import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { appError } from "@appdb/contract/errors";
import type { Logger, SqlPool } from "../ports.ts";
import { isShapeRefusal } from "../write/sql-refusals.ts";
import { ChangeAssembler, type LiveChange } from "./change-message.ts";
import { findForgotten, renewWatches, unwatchTable, WATCH_S, type WatchedTable, watchTable } from "./live-triggers.ts";

/** The channel on which `appdb.tell_live` reports commits that touch watched tables. */
export const LIVE_CHANNEL = "appdb_live";
/** A third of the time after which others take the watch for forgotten. */
const RENEW_MS = (WATCH_S * 1000) / 3;
/** How soon it is tried again to look after commits that may have been missed. */
const AGAIN_MS = 1_000;
/** Pauses between attempts at a table that somebody holds. */
const BUSY_PAUSE_MS = 50;
const MAX_ATTEMPTS = 10;

interface Watch {
  readonly table: WatchedTable;
  readonly columns: Set<string>;
  /** Live queries over the table. */
  users: number;
  /** Settles when the table is watched with these columns. */
  ready: Promise<void>;
  has_failed: boolean;
}

export interface TableWatchesDeps {
  readonly sql: SqlPool;
  readonly log: Logger;
  onChange(change: LiveChange): void;
  /** Commits may have been missed. */
  onGap(): void;
  /** How often watches are looked after. */
  readonly renew_ms?: number;
}

/** Has PostgreSQL tell of commits to tables while somebody uses them. Each table's triggers work only as long as that. */
export class TableWatches implements AsyncDisposable {
  readonly #deps: TableWatchesDeps;
  readonly #owner = randomUUID();
  readonly #watches = new Map<number, Watch>();
  readonly #stop = new AbortController();
  #listening: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #again: NodeJS.Timeout | undefined;
  /** What is done to triggers is done one after the other: an end that overtook a new use would leave it unwatched. */
  #doing: Promise<unknown> = Promise.resolve();
  #hasGap = false;

  constructor(deps: TableWatchesDeps) {
    this.#deps = deps;
  }

  /** Resolves when each commit from now on will be told. Also who is refused has to leave. @throws database_unavailable, overloaded when somebody holds the table */
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

  /** The watch itself stays until the next look around: whoever comes again soon finds it. */
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
      detail: `The table ${watch.table.name} is held by a transaction that has been open for a while, so its changes cannot be watched yet.`,
      hint: "Open the stream again in a moment (psql: select * from pg_stat_activity shows who holds the table).",
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
      await this.#exclusive(() => this.#lookAround());
    } catch (error) {
      this.#deps.log.debug({ err: error }, "watches could not be renewed");
      if (!this.#hasGap || this.#stop.signal.aborted) return;
      clearTimeout(this.#again);
      this.#again = setTimeout(() => void this.#renew(true), AGAIN_MS).unref();
    }
  }

  /** Renews what is used, ends what is not, and what services left behind that are gone. */
  async #lookAround(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const { sql } = this.#deps;
    const kept = await renewWatches(sql, this.#owner);
    if (this.#hasGap) this.#deps.onGap();
    this.#hasGap = false;
    const lost = [...this.#watches.values()].filter(({ table, users }) => users > 0 && !kept.has(table.id));
    for (const watch of lost) await this.#watch(watch);
    if (lost.length > 0) this.#deps.onGap();
    for (const watch of [...this.#watches.values()]) if (watch.users === 0) await this.#end(watch);
    for (const table of await findForgotten(sql)) await unwatchTable(sql, this.#owner, table);
  }

  /** A table that somebody holds is left for the next time, unless it has come into use again. @throws database_unavailable */
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
      // As long as it is ours it is renewed, and nobody else would end it.
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
        // Others end it when its time is up.
        this.#deps.log.warn({ err: error, table: watch.table.name }, "a watch could not be ended");
      });
    }
  }
}
