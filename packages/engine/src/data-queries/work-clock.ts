import { performance } from "node:perf_hooks";

/** Bounds the time that a read works: in PostgreSQL and in Python, without the time in which its client reads. */
export class WorkClock {
  readonly #stopping = new AbortController();
  #left: number;
  is_over = false;
  /** Aborts when the time is over, or when the client disconnects. */
  readonly signal: AbortSignal;

  /** `ms`: Infinity for no bound. */
  constructor(ms: number, client: AbortSignal) {
    this.#left = ms;
    this.signal = AbortSignal.any([client, this.#stopping.signal]);
  }

  async measure<T>(work: () => Promise<T>): Promise<T> {
    if (!Number.isFinite(this.#left)) return await work();
    const since = performance.now();
    const timer = setTimeout(() => this.#end(), Math.min(Math.max(this.#left, 0), LONGEST_MS));
    try {
      return await work();
    } finally {
      clearTimeout(timer);
      this.#left -= performance.now() - since;
    }
  }

  #end(): void {
    this.is_over = true;
    this.#stopping.abort();
  }
}

/** The longest delay of a timer. */
const LONGEST_MS = 2 ** 31 - 1;
