import { performance } from "node:perf_hooks";

export interface WorkLimits {
  /** Of the whole read; undefined for none. */
  readonly total_ms: number | undefined;
  /** Until the next message. */
  readonly piece_ms: number;
}

/** Bounds the time that a read works: in PostgreSQL and in Python, without the time in which its client takes rows. */
export class WorkClock {
  readonly #stopping = new AbortController();
  readonly #limits: WorkLimits;
  #left: number;
  #piece = Number.POSITIVE_INFINITY;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;
  #paused: Promise<void> | undefined;
  /** The limit that ended the read. */
  ended: keyof WorkLimits | undefined;
  /** Aborts when the time is over, or when the client disconnects. */
  readonly signal: AbortSignal;

  constructor(limits: WorkLimits, client: AbortSignal) {
    this.#limits = limits;
    this.#left = limits.total_ms ?? Number.POSITIVE_INFINITY;
    this.signal = AbortSignal.any([client, this.#stopping.signal]);
  }

  get is_paused(): boolean {
    return this.#paused !== undefined;
  }

  /** Bounds a statement, until its next message and in total. */
  async measure<T>(work: () => Promise<T>): Promise<T> {
    this.#piece = this.#limits.piece_ms;
    this.#start();
    try {
      return await work();
    } finally {
      await this.#paused?.catch(() => undefined);
      this.#halt();
    }
  }

  /** Bounds work of Python, whose functions and statements have limits of their own, in total. */
  async measurePython<T>(work: () => Promise<T>): Promise<T> {
    this.#piece = Number.POSITIVE_INFINITY;
    this.#start();
    try {
      return await work();
    } finally {
      this.#halt();
    }
  }

  /** Does not count the time until `client` settles. */
  async pause(client: Promise<void>): Promise<void> {
    this.#halt();
    this.#paused = client.finally(() => {
      this.#paused = undefined;
      this.#start();
    });
    await this.#paused;
  }

  /** Ends the work for another reason than its time. */
  stop(): void {
    this.#stopping.abort();
  }

  #start(): void {
    this.#since = performance.now();
    const limit = this.#left < this.#piece ? "total_ms" : "piece_ms";
    const ms = Math.min(this.#left, this.#piece);
    if (!Number.isFinite(ms)) return;
    this.#timer = setTimeout(
      () => {
        this.ended = limit;
        this.#stopping.abort();
      },
      Math.min(Math.max(ms, 0), LONGEST_MS),
    );
  }

  #halt(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#left -= performance.now() - this.#since;
  }
}

/** The longest delay of a timer. */
const LONGEST_MS = 2 ** 31 - 1;
