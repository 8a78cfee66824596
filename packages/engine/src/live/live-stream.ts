import type { LiveQuery } from "./live-query.ts";
import type { LiveState } from "./live-state.ts";

/** A comment line for proxies and readers that treat silence as the end. */
const HEARTBEAT = ": \n\n";
const HEARTBEAT_MS = 15_000;
/** Delay after which a disconnected reader reconnects. */
const RETRY = "retry: 1000\n\n";

/**
 * One reader of a live query. It pulls the next event after the previous one was sent, so a slow reader gets several
 * changes as one.
 */
export class LiveStream implements AsyncIterableIterator<string> {
  /** The result that the reader has; undefined when it needs the whole one. */
  sent: LiveState | undefined;
  readonly #live: LiveQuery;
  readonly #onEnd: () => void;
  readonly #heartbeatMs: number;
  #hasBegun = false;
  #isEnded = false;
  #last: string | undefined;
  #wake: (() => void) | undefined;

  constructor(live: LiveQuery, lastId: string | undefined, onEnd: () => void, heartbeatMs = HEARTBEAT_MS) {
    this.#live = live;
    this.#onEnd = onEnd;
    this.#heartbeatMs = heartbeatMs;
    if (lastId !== undefined && lastId === live.state?.id) this.sent = live.state;
  }

  async next(): Promise<IteratorResult<string>> {
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      return { done: false, value: RETRY + (this.#take() ?? "") };
    }
    for (;;) {
      if (this.#last !== undefined) {
        const value = this.#last;
        this.#last = undefined;
        return { done: false, value };
      }
      if (this.#isEnded) return { done: true, value: undefined };
      const text = this.#take();
      if (text !== undefined) return { done: false, value: text };
      if (await this.#pause()) return { done: false, value: HEARTBEAT };
    }
  }

  /** Signals that there is news. */
  wake(): void {
    this.#wake?.();
  }

  /** Ends the stream after a last event. */
  end(last?: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#last = last;
    this.#onEnd();
    this.wake();
  }

  async return(): Promise<IteratorResult<string>> {
    this.end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(): string | undefined {
    const text = this.#live.eventFor(this.sent);
    this.sent = this.#live.state;
    return text;
  }

  /** Waits for news; true after a timeout. */
  #pause(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#settle(resolve, true), this.#heartbeatMs);
      this.#wake = () => {
        clearTimeout(timer);
        this.#settle(resolve, false);
      };
    });
  }

  #settle(resolve: (isQuiet: boolean) => void, isQuiet: boolean): void {
    this.#wake = undefined;
    resolve(isQuiet);
  }
}
