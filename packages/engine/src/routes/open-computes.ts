import { appError } from "@appdb/contract/errors";
import { type BodyLimit, howToRaiseBodies } from "@appdb/contract/service-limits";
import { ArrivingBodies, type ArrivingBody, type BodyTexts } from "./arriving-bodies.ts";

/** Requests with many rows that are open at once. Each holds at most one batch, however slowly its client sends more. */
export const OPEN_REQUESTS = 100;

const TEXTS: Omit<BodyTexts, "raise"> = {
  bodies: "Rows that were sent and are not computed yet",
  slow: (seconds) => `No whole batch of rows arrived for ${seconds} seconds, and another request needed the place.`,
};

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
  readonly #bodies: ArrivingBodies;

  constructor(limit: BodyLimit, now?: () => number) {
    this.#bodies = new ArrivingBodies(limit.body_bytes, { ...TEXTS, raise: howToRaiseBodies(limit) }, now);
  }

  /** Counts a request with many rows. @throws overloaded */
  open(): OpenCompute {
    if (this.#bodies.size === OPEN_REQUESTS && !this.#bodies.endSlowest()) throw tooManyOpen();
    return new OpenBody(this.#bodies);
  }

  /** Counts a whole body until it is disposed. @throws overloaded */
  hold(bytes: number): Disposable {
    return this.#bodies.hold(bytes);
  }
}

/** The body of a request with many rows, or nothing of it. */
class OpenBody implements OpenCompute {
  readonly #body: ArrivingBody;
  /** Bytes in memory. */
  #held = 0;
  #lastPiece = 0;
  #isComputed = false;
  #ended: { readonly error: Error } | undefined;
  #onEnd: (() => void) | undefined;

  constructor(bodies: ArrivingBodies) {
    this.#body = bodies.begin((error) => {
      this.#ended = { error };
      this.#onEnd?.();
    });
    // a body that arrived before has no client to wait for
    this.#body.setWaiting(false);
  }

  counted(stream: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    this.#body.setWaiting(true);
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
    this.#body.setWaiting(false);
  }

  batchComputed(): void {
    this.#isComputed = true;
    this.#body.setWaiting(true);
  }

  [Symbol.dispose](): void {
    this.#body[Symbol.dispose]();
  }

  /** After a batch, the rows of earlier pieces stay in memory until more arrives. Only the last piece may have a part of
   *  the next batch. */
  #take(bytes: number): void {
    const kept = this.#isComputed ? Math.min(this.#held, this.#lastPiece) : this.#held;
    this.#isComputed = false;
    this.#body.add(bytes, this.#held - kept);
    this.#held = kept + bytes;
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

function tooManyOpen(): Error {
  return appError("overloaded", {
    detail: `${OPEN_REQUESTS} requests that compute many rows are already open.`,
    hint: "Send the request again in a moment.",
    meta: { open: OPEN_REQUESTS },
  });
}
