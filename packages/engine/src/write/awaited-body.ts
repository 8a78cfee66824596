import { appError } from "@appdb/contract/errors";
import { blocksChange, LOCK_TIMEOUT_MS } from "../catalog/table-locks.ts";
import type { Clock, SqlConnection } from "../ports.ts";

/** A client may keep its request waiting for so long before others end it: requests for its slot, changes of its table. */
export const PATIENCE_S = { slot: 10, change: 3 } as const;
/** What arrives makes good for waiting. A client at this pace is never slow. */
export const STEADY_BYTES_PER_S = 100_000;
const WATCH_MS = LOCK_TIMEOUT_MS;
/** A process that was held up must not count that as the client's time: the rows may have arrived meanwhile. */
const COUNTED_MS = 1_000;

/** What ends a slow body, in its error. */
type Reason = keyof typeof PATIENCE_S;

export interface AwaitedBodyDeps {
  readonly clock: Clock;
  /** Sees the locks of all connections. */
  readonly sql: SqlConnection;
}

/** Only one request is to end for each that waits. */
interface Slot {
  claim(): boolean;
}

/**
 * A body that arrives while its request holds a slot, and then a transaction. A client that is slow ends with
 * `request_timeout` when a request waits for the slot, or a change of the table for the transaction. Nobody else's
 * time counts: not that of PostgreSQL, of Python, or of the queue.
 */
export class AwaitedBody {
  readonly #deps: AwaitedBodyDeps;
  readonly #pieces: AsyncIterator<Uint8Array>;
  #slot: Slot | undefined;
  /** PostgreSQL's process of the transaction. */
  #process: string | undefined;
  #waitedMs = 0;
  #uncheckedMs = 0;
  #refusal: Error | undefined;

  constructor(deps: AwaitedBodyDeps, stream: AsyncIterable<Uint8Array>) {
    this.#deps = deps;
    this.#pieces = stream[Symbol.asyncIterator]();
  }

  /** From now on the request has this slot. */
  holdSlot(slot: Slot): void {
    this.#slot = slot;
  }

  /** Until the result is disposed, the request has a transaction. */
  holdTransaction(process: string): Disposable {
    this.#process = process;
    return {
      [Symbol.dispose]: () => {
        this.#process = undefined;
      },
    };
  }

  /** The pieces as they arrive. @throws request_timeout; errors of the stream, and of the connection that watches */
  async *read(): AsyncGenerator<Uint8Array, void> {
    let isWaiting = false;
    try {
      for (;;) {
        isWaiting = true;
        const step = await this.#next();
        isWaiting = false;
        if (step.done === true) return;
        this.#waitedMs = Math.max(0, this.#waitedMs - (step.value.length / STEADY_BYTES_PER_S) * 1_000);
        // many short waits are one long one
        if (this.#uncheckedMs >= WATCH_MS) await this.#check();
        yield step.value;
      }
    } finally {
      // a stream that waits for its client ends with the response
      if (!isWaiting) await this.#pieces.return?.();
    }
  }

  #next(): Promise<IteratorResult<Uint8Array>> {
    const { clock } = this.#deps;
    let since = clock.now();
    const count = () => {
      const now = clock.now();
      const ms = Math.min(Math.max(now - since, 0), COUNTED_MS);
      this.#waitedMs += ms;
      this.#uncheckedMs += ms;
      since = now;
    };
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const settle = (end: () => void) => {
        if (timer === undefined) return;
        clearTimeout(timer);
        timer = undefined;
        end();
      };
      const fail = (error: unknown) => settle(() => reject(error));
      const watch = () => {
        count();
        this.#check().then(() => {
          timer &&= setTimeout(watch, WATCH_MS);
        }, fail);
      };
      timer = setTimeout(watch, WATCH_MS);
      const take = (step: IteratorResult<Uint8Array>) =>
        settle(() => {
          count();
          if (this.#refusal === undefined) resolve(step);
          else reject(this.#refusal);
        });
      this.#pieces.next().then(take, fail);
    });
  }

  /** @throws request_timeout for a slow client that others wait for */
  async #check(): Promise<void> {
    this.#uncheckedMs = 0;
    // a slot that is claimed has to end, also when the rest arrives at this moment
    if (this.#exceeds("slot") && this.#slot?.claim() === true) {
      this.#refusal ??= tooSlow("slot", this.#waitedMs);
      throw this.#refusal;
    }
    const process = this.#process;
    if (process === undefined || !this.#exceeds("change")) return;
    if (await blocksChange(this.#deps.sql, process)) throw tooSlow("change", this.#waitedMs);
  }

  #exceeds(reason: Reason): boolean {
    return this.#waitedMs >= PATIENCE_S[reason] * 1_000;
  }
}

function tooSlow(reason: Reason, waitedMs: number): Error {
  const seconds = Math.round(waitedMs / 1_000);
  const waiting =
    reason === "slot" ? "another request with many rows waits for its turn" : "a change of its table waits";
  return appError("request_timeout", {
    detail: `The service waited ${seconds} seconds for rows of the request, and ${waiting}. Nothing was stored.`,
    hint:
      reason === "slot"
        ? "Collect the rows first, then send the request again without pauses."
        : "Send the request again when the change is done, without pauses.",
    meta: { waited_s: seconds, limit_s: PATIENCE_S[reason] },
  });
}
