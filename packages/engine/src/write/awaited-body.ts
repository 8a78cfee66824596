import { appError } from "@appdb/contract/errors";
import { blocksChange, LOCK_TIMEOUT_MS } from "../catalog/table-locks.ts";
import type { Clock, SqlConnection } from "../ports.ts";

/**
 * Seconds that a client may keep its request waiting. `slot`: while another request waits for its slot. `turn`: while one
 * of another caller does, and the client's own was slow before or has as many slots as a caller can have. `change`: while a change waits for its table.
 */
export const PATIENCE_S = { slot: 10, turn: 3, change: 3 } as const;
/** Bytes that undo a second of waiting. A client that sends as fast as this is never slow. */
export const STEADY_BYTES_PER_S = 100_000;
const WATCH_MS = LOCK_TIMEOUT_MS;
/** The most that is counted at once. A process that was stopped for longer did not wait for its client. */
const COUNTED_MS = 1_000;

/** Why a slow client ends. */
type Reason = keyof typeof PATIENCE_S;

export interface AwaitedBodyDeps {
  readonly clock: Clock;
  /** Sees the locks of all connections. */
  readonly sql: SqlConnection;
  /** As `RouteRequest` has it: what unpacks to many bytes costs its sender few. */
  readonly packedBytes?: (() => number | undefined) | undefined;
}

/** As `Admission` gives it. */
interface Slot {
  claim(early: boolean): boolean;
}

/**
 * A body that arrives while its request holds a slot, and then a transaction. A client that is slow ends with
 * `request_timeout` when a request waits for the slot, or a change of the table for the transaction. Only the
 * time of the client counts: not that of PostgreSQL, of Python, or of the queue.
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
  /** Bytes of a packed body that undid waiting. */
  #packed = 0;

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
        this.#waitedMs = Math.max(0, this.#waitedMs - (this.#sentBytes(step.value) / STEADY_BYTES_PER_S) * 1_000);
        // many short waits count as a long one
        if (this.#uncheckedMs >= WATCH_MS) await this.#check();
        yield step.value;
      }
    } finally {
      // a stream that waits for its client ends with the response
      if (!isWaiting) await this.#pieces.return?.();
    }
  }

  /** The bytes that the client has sent for a piece. */
  #sentBytes(piece: Uint8Array): number {
    const packed = this.#deps.packedBytes?.();
    if (packed === undefined) return piece.length;
    const before = this.#packed;
    this.#packed = packed;
    return packed - before;
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
    const reason = this.#exceeds("slot") ? "slot" : "turn";
    if (this.#exceeds(reason) && this.#slot?.claim(reason === "turn") === true) {
      this.#refusal ??= tooSlow(reason, this.#waitedMs);
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
  const [waiting, hint] = {
    slot: [
      "Another request with many rows waits for its turn.",
      "Collect the rows first, then send the request again without pauses.",
    ],
    turn: [
      "Another caller's request with many rows waits for its turn.",
      "Collect the rows first, then send one request at a time without pauses.",
    ],
    change: [
      "A change of the table waits for the request.",
      "Send the request again when the change is done, without pauses.",
    ],
  }[reason];
  return appError("request_timeout", {
    detail: `The client kept the database waiting for ${seconds} seconds. ${waiting} Nothing was stored.`,
    hint,
    meta: { waited_s: seconds, limit_s: PATIENCE_S[reason] },
  });
}
