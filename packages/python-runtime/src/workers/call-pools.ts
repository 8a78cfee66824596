import type { ResourcePool } from "@appdb/contract/manifest";

/** The pause before the first further attempt, when the provider names none; each next one is twice as long. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
const MINUTE_MS = 60_000;

export interface CallPoolsDeps {
  now(): number;
  /** From 0 up to, not including, 1. */
  random(): number;
  /** Calls back after some milliseconds; gives what takes that back. */
  after(ms: number, work: () => void): () => void;
}

/** A call that waits for room, or runs. */
interface Place {
  readonly owner: object;
  readonly ask: number;
  /** Not before then. */
  readonly ready_at: number;
  readonly grant: () => void;
}

interface Pool {
  limits: ResourcePool;
  waiting: Place[];
  running: Place[];
  /** When the calls of the last minute began, oldest first. */
  begun: number[];
  /** No call begins before: the provider has asked for a pause. */
  closed_until: number;
  cancelWake: (() => void) | undefined;
}

/**
 * Counts the calls of resource pools across all workers, and lets waiting ones begin when there is room. A call that
 * its provider turned away comes back with its attempt: it waits for a growing pause with jitter, or for the pause that
 * the provider named, for which all others of the pool wait too.
 */
export class CallPools {
  readonly #deps: CallPoolsDeps;
  readonly #pools = new Map<string, Pool>();

  constructor(deps: CallPoolsDeps) {
    this.#deps = deps;
  }

  /** Takes the limits of pools; those of a worker that started later replace an earlier one's. */
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

  /** Has `grant` called once the call may begin, at once when there is room or the pool is unknown. */
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

  /** Takes note that a call has ended. */
  release(owner: object, ask: number): void {
    this.#remove((place) => place.owner === owner && place.ask === ask);
  }

  /** Forgets all calls of a worker that ended. */
  drop(owner: object): void {
    this.#remove((place) => place.owner === owner);
  }

  /** The limits of a pool; undefined when nobody declared it. */
  limits(name: string): ResourcePool | undefined {
    return this.#pools.get(name)?.limits;
  }

  stats(): Record<string, { running: number; waiting: number }> {
    return Object.fromEntries(
      [...this.#pools].map(([name, pool]) => [name, { running: pool.running.length, waiting: pool.waiting.length }]),
    );
  }

  /** Stops waiting; nothing is granted any more. */
  end(): void {
    for (const pool of this.#pools.values()) pool.cancelWake?.();
    this.#pools.clear();
  }

  #remove(goes: (place: Place) => boolean): void {
    for (const pool of this.#pools.values()) {
      pool.waiting = pool.waiting.filter((place) => !goes(place));
      const running = pool.running.filter((place) => !goes(place));
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
      const waitMs = Math.max(this.#minuteIsFull(pool, perMinute, now), pool.closed_until - now, soonest(pool, now));
      if (waitMs > 0) {
        pool.cancelWake = this.#deps.after(waitMs, () => this.#admit(pool));
        return;
      }
      const at = pool.waiting.findIndex((place) => place.ready_at <= now);
      const [place] = pool.waiting.splice(at, 1) as [Place];
      pool.running.push(place);
      if (perMinute !== null) pool.begun.push(now);
      place.grant();
    }
  }

  /** How long until the minute has room for another call; 0 when it has. */
  #minuteIsFull(pool: Pool, perMinute: number | null, now: number): number {
    if (perMinute === null) return 0;
    while (pool.begun.length > 0 && (pool.begun[0] as number) <= now - MINUTE_MS) pool.begun.shift();
    if (pool.begun.length < perMinute) return 0;
    return (pool.begun[pool.begun.length - perMinute] as number) + MINUTE_MS - now;
  }
}

/** How long until the first of the waiting calls may begin. */
function soonest(pool: Pool, now: number): number {
  return Math.min(...pool.waiting.map((place) => place.ready_at)) - now;
}
