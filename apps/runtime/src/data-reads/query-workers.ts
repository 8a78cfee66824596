import type { Clock, Logger, UdfRunner } from "@appdb/engine/ports";

/** Ends workers after this time without a query. */
const IDLE_MS = 60_000;
/** Programs with workers at a time. */
const MAX_KEPT = 4;

interface Kept {
  readonly opening: Promise<UdfRunner>;
  users: number;
  used_at: number;
}

/** Workers of queries by the code that they run: kept for a while, because people ask several queries in a row. */
export class QueryWorkers implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #kept = new Map<string, Kept>();
  readonly #closing = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Logger }) {
    this.#clock = clock;
    this.#log = log;
    this.#timer = setInterval(() => this.#release(clock.now() - IDLE_MS), IDLE_MS / 4);
    this.#timer.unref();
  }

  /** Lends the workers of a code until the lease is disposed; equal keys share them. */
  async lend(key: string, open: () => Promise<UdfRunner>): Promise<{ readonly runner: UdfRunner } & Disposable> {
    const kept = this.#kept.get(key) ?? { opening: open(), users: 0, used_at: 0 };
    this.#kept.set(key, kept);
    kept.users += 1;
    const end = () => {
      kept.users -= 1;
      kept.used_at = this.#clock.now();
      if (this.#kept.size > MAX_KEPT) this.#release(this.#clock.now());
    };
    try {
      return { runner: await kept.opening, [Symbol.dispose]: end };
    } catch (error) {
      // the next query tries again
      if (this.#kept.get(key) === kept) this.#kept.delete(key);
      throw error;
    }
  }

  /** Ends the workers without a query. */
  endUnused(): void {
    this.#release(this.#clock.now());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#release(Number.POSITIVE_INFINITY);
    await Promise.all(this.#closing);
  }

  /** Ends workers that were last used before a time. */
  #release(before: number): void {
    for (const [key, { opening, used_at, users }] of this.#kept) {
      if ((users > 0 && Number.isFinite(before)) || used_at > before) continue;
      this.#kept.delete(key);
      const closing = opening
        .then((runner) => runner[Symbol.asyncDispose]())
        .catch((error: unknown) => this.#log.warn({ err: error }, "ending the workers of a query failed"))
        .finally(() => this.#closing.delete(closing));
      this.#closing.add(closing);
    }
  }
}
