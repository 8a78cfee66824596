import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import type { Gunzip } from "node:zlib";
import { appError } from "@appdb/contract/errors";
import { dropBody } from "@appdb/http/drop-body";
import { decompressedBody, explainUnpacking, stopUnpacking } from "./packed-body.ts";

/** Maximum bytes read ahead of the consumer. */
const AHEAD_BYTES = 262_144;
/** Timeout for a client's next piece. */
const IDLE_MS = 60_000;

/** A request's body in pieces, at the consumer's pace. Nothing is read before the consumer asks. */
export class BodyStream implements AsyncIterable<Uint8Array> {
  readonly #request: IncomingMessage;
  /** The unpacked body, or the request itself. */
  readonly #source: Readable;
  readonly #signal: AbortSignal;
  readonly #idleMs: number;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #isDropped = false;
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

  /** The bytes that have arrived of a packed body; undefined for another one. */
  packedBytes(): number | undefined {
    return this.#source === this.#request ? undefined : (this.#source as Gunzip).bytesWritten;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    if (!this.#isDropped) this.#source.on("data", this.#take);
    for (;;) {
      for (let piece = this.#pieces.shift(); piece !== undefined; piece = this.#pieces.shift()) {
        this.#bytes -= piece.length;
        yield piece;
      }
      if (this.#error !== undefined) throw this.#error;
      if (this.#hasEnded || this.#isDropped) return;
      await this.#arrival();
    }
  }

  /** Drops the rest of the body (`dropBody`). */
  drop(): void {
    if (this.#isDropped || this.#request.readableEnded || this.#request.destroyed) return;
    this.#isDropped = true;
    this.#pieces = [];
    this.#source.off("data", this.#take);
    this.#wake();
    stopUnpacking(this.#request, this.#source);
    dropBody(this.#request);
  }

  readonly #take = (piece: Buffer): void => {
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
