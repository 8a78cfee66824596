import type { ResourcePool } from "@appdb/contract/resource-pool";

/** Pause before the first retry unless the provider names one. It doubles for each further retry. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
const MINUTE_MS = 60_000;

export interface CallPoolsDeps {
  now(): number;
  /** From 0 (inclusive) to 1 (exclusive). */
  random(): number;
  /** Calls back after some milliseconds. Returns a function that cancels this. */
  after(ms: number, work: () => void): () => void;
}

/** A waiting or running call. */
interface Place {
  readonly owner: object;
  readonly ask: number;
  /** Earliest start. */
  readonly ready_at: number;
  readonly grant: () => void;
}

interface Pool {
  limits: ResourcePool;
  waiting: Place[];
  running: Place[];
  /** Start times of the last minute's calls, oldest first. */
  begun: number[];
  /** No call starts earlier, because the provider requested a pause. */
  closed_until: number;
  cancelWake: (() => void) | undefined;
}

/**
 * Counts calls of resource pools across all workers and starts waiting ones when there is room. A call that the
 * provider rejected returns with its attempt number. It waits for an increasing pause with jitter, or for the pause
 * that the provider named, which applies to the whole pool.
 */
export class CallPools {
  readonly #deps: CallPoolsDeps;
  readonly #pools = new Map<string, Pool>();

  constructor(deps: CallPoolsDeps) {
    this.#deps = deps;
  }

  /** Sets the limits of pools. A worker that starts later replaces earlier limits. */
  declare(pools: readonly ResourcePool[]): void {
    for (const limits of pools) {
      const known = this.#pools.get(limits.name);
      if (known === undefined) {
        const empty = { waiting: [], running: [], begun: [], closed_until: 0, cancelWake: undefined };
        this.#pools.set(limits.name, { limits, ...empty });
      } else {
        known.limits = limits;
        this.#admit(known);
      }
    }
  }

  /** Calls `grant` once the call may start; immediately when there is room or the pool is unknown. */
  acquire(owner: object, ask: number, name: string, attempt: number, retryAfterS: number | null, grant: () => void) {
    const pool = this.#pools.get(name);
    if (pool === undefined) {
      grant();
      return;
    }
    const now = this.#deps.now();
    let readyAt = now;
    if (retryAfterS !== null) {
      readyAt = now + retryAfterS * 1000;
      pool.closed_until = Math.max(pool.closed_until, readyAt);
    } else if (attempt > 0) {
      const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1));
      readyAt = now + pause * (0.5 + this.#deps.random() / 2);
    }
    pool.waiting.push({ owner, ask, ready_at: readyAt, grant });
    this.#admit(pool);
  }

  /** Records the end of a call. */
  release(owner: object, ask: number): void {
    this.#remove((slot) => slot.owner === owner && slot.ask === ask);
  }

  /** Removes all calls of a worker that ended. */
  drop(owner: object): void {
    this.#remove((slot) => slot.owner === owner);
  }

  /** Limits of a pool. Undefined when it was not declared. */
  limits(name: string): ResourcePool | undefined {
    return this.#pools.get(name)?.limits;
  }

  stats(): Record<string, { running: number; waiting: number }> {
    return Object.fromEntries(
      [...this.#pools].map(([name, pool]) => [name, { running: pool.running.length, waiting: pool.waiting.length }]),
    );
  }

  /** Stops granting calls. */
  end(): void {
    for (const pool of this.#pools.values()) pool.cancelWake?.();
    this.#pools.clear();
  }

  #remove(goes: (slot: Place) => boolean): void {
    for (const pool of this.#pools.values()) {
      pool.waiting = pool.waiting.filter((slot) => !goes(slot));
      const running = pool.running.filter((slot) => !goes(slot));
      if (running.length === pool.running.length) continue;
      pool.running = running;
      this.#admit(pool);
    }
  }

  #admit(pool: Pool): void {
    pool.cancelWake?.();
    pool.cancelWake = undefined;
    const { max_concurrent: maxConcurrent, per_minute: perMinute } = pool.limits;
    while (pool.waiting.length > 0 && pool.running.length < (maxConcurrent ?? Number.POSITIVE_INFINITY)) {
      const now = this.#deps.now();
      const waitMs = Math.max(
        this.#minuteIsFull(pool, perMinute, now),
        pool.closed_until - now,
        nextReadyIn(pool, now),
      );
      if (waitMs > 0) {
        pool.cancelWake = this.#deps.after(waitMs, () => this.#admit(pool));
        return;
      }
      const at = pool.waiting.findIndex((slot) => slot.ready_at <= now);
      const [slot] = pool.waiting.splice(at, 1) as [Place];
      pool.running.push(slot);
      if (perMinute !== null) pool.begun.push(now);
      slot.grant();
    }
  }

  /** Time until the minute's limit allows another call; 0 when it does. */
  #minuteIsFull(pool: Pool, perMinute: number | null, now: number): number {
    if (perMinute === null) return 0;
    while (pool.begun.length > 0 && (pool.begun[0] as number) <= now - MINUTE_MS) pool.begun.shift();
    if (pool.begun.length < perMinute) return 0;
    return (pool.begun[pool.begun.length - perMinute] as number) + MINUTE_MS - now;
  }
}

/** Time until the first waiting call may start. */
function nextReadyIn(pool: Pool, now: number): number {
  return Math.min(...pool.waiting.map((slot) => slot.ready_at)) - now;
}
