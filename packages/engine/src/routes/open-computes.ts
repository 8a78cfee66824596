import { appError } from "@appdb/contract/errors";
import { limitVariable } from "@appdb/contract/service-limits";

/** Requests with many rows that are open at once. Each holds at most one batch, however slowly its client sends more. */
export const OPEN_REQUESTS = 100;
/** The first bytes of each body are not counted, so that small requests are always computed. */
export const FREE_BYTES = 65_536;
/** A client that sends no whole batch for so long loses its place, or its bytes, when another request needs them. */
const SLOW_MS = 10_000;

/** A request with many rows, until it is disposed. */
export interface OpenCompute extends Disposable {
  /** Its body, counted as it arrives. @throws overloaded, also when the client was slow and lost its place */
  counted(stream: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /** It has a batch, and no longer waits for its client. */
  batchRead(): void;
  /** Its batch is computed, and it waits for its client again. */
  batchComputed(): void;
}

/**
 * Requests that compute rows, and the bytes of their bodies that are in memory: together at most those of the largest
 * body. Read into rows, they take several times as much memory.
 */
export class OpenComputes {
  readonly #bodyBytes: number;
  readonly #now: () => number;
  readonly #open = new Set<OpenBody>();
  #counted = 0;

  constructor(bodyBytes: number, now: () => number = () => performance.now()) {
    this.#bodyBytes = bodyBytes;
    this.#now = now;
  }

  /** Counts a request with many rows. @throws overloaded */
  open(): OpenCompute {
    if (this.#open.size === OPEN_REQUESTS && !this.#endSlowest(() => true)) throw tooManyOpen();
    const body = new OpenBody(this.#now, (before, after) => this.#count(before, after, body));
    this.#open.add(body);
    return {
      counted: (stream) => body.counted(stream),
      batchRead: () => body.batchRead(),
      batchComputed: () => body.batchComputed(),
      [Symbol.dispose]: () => {
        this.#open.delete(body);
        body.release();
      },
    };
  }

  /** Counts a whole body until it is disposed. @throws overloaded */
  hold(bytes: number): Disposable {
    this.#count(0, bytes);
    let held = bytes;
    return {
      [Symbol.dispose]: () => {
        this.#count(held, 0);
        held = 0;
      },
    };
  }

  /** Counts a body that had `before` bytes and has `after`. @throws overloaded */
  #count(before: number, after: number, body?: OpenBody): void {
    const more = countedPart(after) - countedPart(before);
    const max = this.#bodyBytes;
    while (more > 0 && this.#counted + more > max) {
      if (!this.#endSlowest((one) => one !== body && countedPart(one.held) > 0)) throw tooManyBytes(max);
    }
    this.#counted += more;
  }

  /** Ends the request that has waited for its client the longest, of those that qualify. False when none is slow. */
  #endSlowest(qualifies: (one: OpenBody) => boolean): boolean {
    let slowest: OpenBody | undefined;
    for (const one of this.#open) {
      if (one.waiting_since < (slowest?.waiting_since ?? Number.POSITIVE_INFINITY) && qualifies(one)) slowest = one;
    }
    const waitedMs = slowest === undefined ? 0 : this.#now() - slowest.waiting_since;
    if (slowest === undefined || waitedMs < SLOW_MS) return false;
    this.#open.delete(slowest);
    slowest.end(tooSlow(waitedMs));
    return true;
  }
}

/** The body of a request with many rows, or nothing of it. */
class OpenBody {
  /** Since when the request waits for the rest of a batch; never while it has a batch, or a body that arrived before. */
  waiting_since = Number.POSITIVE_INFINITY;
  readonly #now: () => number;
  readonly #count: (before: number, after: number) => void;
  /** Bytes that are counted. */
  held = 0;
  #lastPiece = 0;
  #isComputed = false;
  #ended: { readonly error: Error } | undefined;
  #onEnd: (() => void) | undefined;

  constructor(now: () => number, count: (before: number, after: number) => void) {
    this.#now = now;
    this.#count = count;
  }

  counted(stream: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    this.waiting_since = this.#now();
    const pieces = stream[Symbol.asyncIterator]();
    // not a generator, whose return() would wait for the piece that its client does not send
    return {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          const step = await this.#unlessEnded(pieces.next());
          if (step.done !== true) this.#take(step.value.length);
          return step;
        },
        return: async () => {
          pieces.return?.().catch(() => undefined);
          return { done: true, value: undefined };
        },
      }),
    };
  }

  batchRead(): void {
    this.waiting_since = Number.POSITIVE_INFINITY;
  }

  batchComputed(): void {
    this.#isComputed = true;
    this.waiting_since = this.#now();
  }

  /** Ends the request while it waits for its client. */
  end(error: Error): void {
    this.#ended = { error };
    this.release();
    this.#onEnd?.();
  }

  release(): void {
    this.#count(this.held, 0);
    this.held = 0;
  }

  /** After a batch, the rows of earlier pieces stay in memory until more arrives. Only the last piece may have a part of
   *  the next batch. */
  #take(bytes: number): void {
    const kept = this.#isComputed ? Math.min(this.held, this.#lastPiece) : this.held;
    this.#isComputed = false;
    this.#count(this.held, kept + bytes);
    this.held = kept + bytes;
    this.#lastPiece = bytes;
  }

  #unlessEnded<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#onEnd = () => reject(this.#ended?.error);
      if (this.#ended !== undefined) this.#onEnd();
      work.then(resolve, reject);
    });
  }
}

function countedPart(bytes: number): number {
  return Math.max(0, bytes - FREE_BYTES);
}

function tooManyOpen(): Error {
  return appError("overloaded", {
    detail: `${OPEN_REQUESTS} requests that compute many rows are already open.`,
    hint: "Send the request again in a moment.",
    meta: { open: OPEN_REQUESTS },
  });
}

function tooManyBytes(value: number): Error {
  return appError("overloaded", {
    detail: `Rows that were sent and are not computed yet would have more than ${value} bytes together.`,
    hint: `Send the request again in a moment, or raise ${limitVariable("body_bytes")}.`,
    meta: { limit: "body_bytes", value },
  });
}

function tooSlow(waitedMs: number): Error {
  const seconds = Math.floor(waitedMs / 1_000);
  return appError("overloaded", {
    detail: `No whole batch of rows arrived for ${seconds} seconds, and another request needed the place.`,
    hint: "Send the rows again without pauses, or fewer rows per request.",
    meta: { waited_s: seconds },
  });
}
