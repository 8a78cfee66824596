import { appError } from "@appdb/contract/errors";
import { limitVariable } from "@appdb/contract/service-limits";
import type { BoundQuery } from "../bound-queries/bind-query.ts";
import type { Logger, SqlPool } from "../ports.ts";
import type { QueryAnswer } from "../queries/final-answer.ts";
import type { OpenQuery } from "../queries/open-queries.ts";
import type { QueryArguments } from "../query-plans/python-rows.ts";
import type { QueryLimits } from "../sql/query-limits.ts";
import { isShapeRefusal } from "../write/sql-refusals.ts";
import type { LiveChange } from "./change-message.ts";
import { LiveIndex } from "./live-index.ts";
import { isPassing, LiveQuery } from "./live-query.ts";
import { LiveStream } from "./live-stream.ts";
import { TableWatches } from "./table-watches.ts";
import { findWatchedColumns, findWatchPoints, type WatchPoint } from "./watch-points.ts";

export interface LiveQueriesDeps {
  readonly sql: SqlPool;
  readonly log: Logger;
  readonly limits: Pick<QueryLimits, "live_queries" | "live_bytes">;
}

/** Commits within this time are processed together. */
const COLLECT_MS = 5;
/** Maximum concurrent reruns. The other connections of the pool are for requests. */
const AT_A_TIME = 2;
/** Maximum sets of arguments of one statement. */
const MAX_TOGETHER = 100;
/** Pause before a failed run is retried. */
const RETRY_MS = 1_000;

interface Known {
  readonly live: LiveQuery;
  readonly points: readonly WatchPoint[];
  /** Settles when every later relevant commit will produce an event. */
  readonly ready: Promise<void>;
}

/** The live queries of one service: their watches, and the reruns after a commit. */
export class LiveQueries implements AsyncDisposable {
  readonly #deps: LiveQueriesDeps;
  readonly #watches: TableWatches;
  readonly #index = new LiveIndex();
  readonly #known = new Map<string, Known>();
  readonly #queue = new Set<LiveQuery>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #collecting: NodeJS.Timeout | undefined;
  #running = 0;
  #streams = 0;
  #bytes = 0;
  #isClosed = false;

  constructor(deps: LiveQueriesDeps) {
    this.#deps = deps;
    this.#watches = new TableWatches({
      ...deps,
      onChange: (change) => this.#onChange(change),
      onGap: () => {
        for (const live of this.#index.all()) this.#mark(live);
      },
    });
  }

  /**
   * Opens a stream of a query's results: the result as of this call, then its changes. `last_id` is the id of the
   * reader's last event.
   * @throws overloaded at the limits of live queries; any error of running the query
   */
  async open(query: OpenQuery, args: QueryArguments, lastId: string | undefined): Promise<LiveStream> {
    const { live_queries: liveQueries } = this.#deps.limits;
    if (this.#streams >= liveQueries) throw tooMany(liveQueries);
    this.#streams += 1;
    const key = `${query.query.id} ${query.asker.keyOf(args)}`;
    const known = this.#known.get(key) ?? this.#register(new LiveQuery(key, query.runner, args));
    const { live } = known;
    live.openers += 1;
    try {
      await known.ready;
      const isRun = live.nextRun();
      this.#mark(live);
      await isRun;
      const stream: LiveStream = new LiveStream(live, lastId, () => this.#close(live, stream));
      live.streams.add(stream);
      return stream;
    } catch (error) {
      this.#streams -= 1;
      throw error;
    } finally {
      live.openers -= 1;
      this.#dropUnused(live);
    }
  }

  #close(live: LiveQuery, stream: LiveStream): void {
    this.#streams -= 1;
    live.streams.delete(stream);
    this.#dropUnused(live);
  }

  #register(live: LiveQuery): Known {
    const { bound } = live.runner.plan;
    const points = findWatchPoints(bound, live.args);
    const known = { live, points, ready: this.#watch(bound, points) };
    this.#known.set(live.key, known);
    this.#index.add(live, points);
    return known;
  }

  /** Watches the tables of a query. If a table was dropped or renamed, the query's own run reports it. */
  async #watch(bound: BoundQuery, points: readonly WatchPoint[]): Promise<void> {
    const watched = findWatchedColumns(bound);
    const uses = points.map(({ table }) => {
      const columns = watched.filter(({ table_id: tableId }) => tableId === table.id).map(({ column }) => column);
      return this.#watches.use(table, columns);
    });
    for (const use of await Promise.allSettled(uses)) {
      if (use.status === "rejected" && !isShapeRefusal(use.reason)) throw use.reason;
    }
  }

  #dropUnused(live: LiveQuery): void {
    const known = this.#known.get(live.key);
    if (live.is_wanted || known?.live !== live) return;
    this.#known.delete(live.key);
    this.#queue.delete(live);
    this.#index.remove(live, known.points);
    for (const { table } of known.points) this.#watches.leave(table);
    this.#bytes -= live.state?.bytes ?? 0;
    live.state = undefined;
    live.stopped.abort();
  }

  #onChange(change: LiveChange): void {
    for (const live of this.#index.affected(change)) this.#mark(live);
  }

  /** Schedules one more run of the query, after any run in progress. */
  #mark(live: LiveQuery): void {
    this.#queue.add(live);
    if (this.#isClosed) return;
    this.#collecting ??= setTimeout(() => {
      this.#collecting = undefined;
      this.#runNext();
    }, COLLECT_MS);
  }

  #runNext(): void {
    for (const live of this.#queue) {
      if (this.#running >= AT_A_TIME) return;
      if (live.is_running) continue;
      const together = this.#takeTogether(live);
      this.#running += 1;
      void this.#runAll(together).finally(() => {
        this.#running -= 1;
        this.#runNext();
      });
    }
  }

  /** The query, and those of the same text with other arguments. One statement can run them all. */
  #takeTogether(first: LiveQuery): readonly LiveQuery[] {
    const together: LiveQuery[] = [];
    for (const live of this.#queue) {
      if (live.runner !== first.runner || live.is_running) continue;
      together.push(live);
      if (together.length === MAX_TOGETHER) break;
    }
    for (const live of together) {
      this.#queue.delete(live);
      live.is_running = true;
    }
    return together;
  }

  async #runAll(lives: readonly LiveQuery[]): Promise<void> {
    const waiting = lives.map((live) => live.takeWaiting());
    const [first] = lives;
    const answers = lives.length === 1 ? undefined : await first?.runner.runMany(lives.map(({ args }) => args));
    for (const [at, live] of lives.entries()) {
      try {
        const alone = { is_identified: true, signal: live.stopped.signal };
        this.#take(live, answers?.[at] ?? (await live.runner.run(live.args, alone)));
        for (const waiter of waiting[at] ?? []) waiter.resolve();
      } catch (error) {
        for (const waiter of waiting[at] ?? []) waiter.reject(error);
        this.#onFailure(live, error);
      } finally {
        live.is_running = false;
      }
    }
  }

  /** @throws overloaded when all results together exceed the limit */
  #take(live: LiveQuery, answer: QueryAnswer): void {
    if (live.stopped.signal.aborted) return;
    this.#bytes += live.update(answer);
    if (this.#bytes > this.#deps.limits.live_bytes) throw tooLarge(this.#deps.limits.live_bytes);
  }

  #onFailure(live: LiveQuery, error: unknown): void {
    if (live.stopped.signal.aborted || live.streams.size === 0) return;
    if (!isPassing(error) || isLiveError(error)) {
      this.#deps.log.info({ err: error, query: live.runner.plan.bound.name }, "live query ended");
      live.fail(error);
      return;
    }
    this.#deps.log.warn({ err: error, query: live.runner.plan.bound.name }, "a live query will be retried");
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#mark(live);
    }, RETRY_MS);
    this.#timers.add(timer);
  }

  /** Ends all streams and the watches of their tables. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#collecting);
    for (const timer of this.#timers) clearTimeout(timer);
    for (const { live } of [...this.#known.values()]) for (const stream of [...live.streams]) stream.end();
    await this.#watches[Symbol.asyncDispose]();
  }
}

function tooMany(liveQueries: number): Error {
  return appError("overloaded", {
    detail: `${liveQueries} live queries are open, the maximum of a service.`,
    hint: `Close some, or raise ${limitVariable("live_queries")}.`,
    meta: { limit: "live_queries", value: liveQueries },
  });
}

function tooLarge(liveBytes: number): Error {
  return appError("overloaded", {
    detail: `The results of all live queries together exceed ${liveBytes} bytes, the maximum of a service.`,
    hint: `Request fewer rows or columns, or raise ${limitVariable("live_bytes")}.`,
    meta: { limit: "live_bytes", value: liveBytes },
  });
}

/** An error at the service's own limit: a retry would not help. */
function isLiveError(error: unknown): boolean {
  return error instanceof Error && "meta" in error && (error.meta as { limit?: string }).limit === "live_bytes";
}
