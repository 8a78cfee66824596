import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { appError } from "@appdb/contract/errors";
import { decompressedBody, explainUnpacking, stopUnpacking } from "./packed-body.ts";

/** Maximum bytes read ahead of the consumer. */
const AHEAD_BYTES = 262_144;
/** Timeout for a client's next piece. */
const IDLE_MS = 60_000;
/** Bytes of an unread body that are received and dropped, because a client reads the answer only after sending. */
const DROPPED_BYTES = 64_000_000;
const DROPPING_MS = 30_000;

/** A request's body in pieces, at the consumer's pace. Nothing is read before the consumer asks. */
export class BodyStream implements AsyncIterable<Uint8Array> {
  readonly #request: IncomingMessage;
  /** The unpacked body, or the request itself. */
  readonly #source: Readable;
  readonly #signal: AbortSignal;
  readonly #idleMs: number;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #dropped: number | undefined;
  #hasEnded = false;
  #error: unknown;
  #wake = (): void => undefined;

  /** `signal` aborts when the client disconnects. */
  constructor(request: IncomingMessage, signal: AbortSignal, idleMs = IDLE_MS) {
    this.#request = request;
    this.#signal = signal;
    this.#idleMs = idleMs;
    this.#source = decompressedBody(request);
    this.#source.on("end", () => {
      this.#hasEnded = true;
      this.#wake();
    });
    this.#source.on("error", (error) => {
      this.#error = this.#signal.aborted ? this.#signal.reason : explainUnpacking(error);
      this.#wake();
    });
    // The client disconnected before: no event says so any more.
    if (request.destroyed && !request.readableEnded)
      this.#error = (signal.aborted ? signal : AbortSignal.abort()).reason;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    if (this.#dropped === undefined) this.#source.on("data", this.#take);
    for (;;) {
      for (let piece = this.#pieces.shift(); piece !== undefined; piece = this.#pieces.shift()) {
        this.#bytes -= piece.length;
        yield piece;
      }
      if (this.#error !== undefined) throw this.#error;
      if (this.#hasEnded || this.#dropped !== undefined) return;
      await this.#arrival();
    }
  }

  /**
   * Drops the rest of the body, so that the connection serves the next request. Closes the connection when too much is
   * left.
   */
  drop(): void {
    if (this.#dropped !== undefined || this.#request.readableEnded || this.#request.destroyed) return;
    this.#dropped = 0;
    this.#pieces = [];
    this.#wake();
    const timer = setTimeout(() => this.#request.socket.destroy(), DROPPING_MS);
    this.#wake = () => clearTimeout(timer);
    if (this.#source !== this.#request) {
      stopUnpacking(this.#request, this.#source);
      this.#request.on("close", () => this.#wake());
    }
    this.#request.off("data", this.#take).on("data", this.#take);
    this.#request.resume();
  }

  readonly #take = (piece: Buffer): void => {
    if (this.#dropped !== undefined) {
      this.#dropped += piece.length;
      if (this.#dropped > DROPPED_BYTES) this.#request.socket.destroy();
      return;
    }
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes >= AHEAD_BYTES) this.#source.pause();
    this.#wake();
  };

  #arrival(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(bodyTimedOut(this.#idleMs)), this.#idleMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#source.resume();
    });
  }
}

/** Error for a client that did not send the complete request within `ms` milliseconds. */
export function bodyTimedOut(ms: number): Error {
  return appError("request_timeout", {
    detail: `The rest of the request did not arrive within ${ms / 1_000} seconds.`,
    hint: "Send the request again without pauses.",
    meta: { timeout_ms: ms },
  });
}
