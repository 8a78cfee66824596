import { Writable } from "node:stream";
import type { CountBytes } from "./frames.ts";
import { LINK_WINDOW_BYTES } from "./link.ts";

/** Memory budget for frames that the other end has not read and bodies that are not consumed. */
export interface LinkMemory extends CountBytes {
  /** Returns false and counts nothing when the budget is exhausted. */
  take(bytes: number): boolean;
}

export const UNBOUNDED: LinkMemory = { take: () => true, add: () => undefined, give: () => undefined };

/** Consumed bytes are confirmed in batches of this size, which leaves a sender most of its window. */
const CONFIRMED_BYTES = LINK_WINDOW_BYTES / 4;

/** A body as it arrives. Consuming it opens the window further. @throws the error that `end` got */
export class IncomingBody implements AsyncIterable<Uint8Array> {
  readonly #memory: LinkMemory;
  readonly #took: (bytes: number) => void;
  readonly #left: () => void;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  /** Consumed bytes that are not confirmed yet. */
  #unconfirmed = 0;
  #hasEnded = false;
  #error: unknown;
  #wake = () => {};

  /** `onLeave` is called when the reader stops before the end. */
  constructor(memory: LinkMemory, took: (bytes: number) => void, onLeave: () => void) {
    this.#memory = memory;
    this.#took = took;
    this.#left = onLeave;
  }

  /** False when the memory budget is exhausted. @throws Error for more than the window */
  push(piece: Buffer): boolean {
    if (this.#bytes + piece.length > LINK_WINDOW_BYTES) throw new Error("more of a body than the window allows");
    if (!this.#memory.take(piece.length)) return false;
    this.#bytes += piece.length;
    this.#pieces.push(piece);
    this.#wake();
    return true;
  }

  /** Ends the body. Safe to repeat. */
  end(error: unknown): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#error = error;
    this.#wake();
  }

  /** Reads without promises, for a stream of Node. Calls back once with the next piece, or null at the end. */
  pull(take: (piece: Buffer | null) => void, failed: (error: unknown) => void): void {
    const piece = this.#pieces.shift();
    if (piece !== undefined) {
      this.#release(piece.length);
      this.#confirm(piece.length);
      take(piece);
    } else if (!this.#hasEnded) {
      this.#wake = () => {
        this.#wake = () => {};
        this.pull(take, failed);
      };
    } else if (this.#error === undefined) take(null);
    else failed(this.#error);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const piece = this.#pieces.shift();
        if (piece !== undefined) {
          yield piece;
          this.#release(piece.length);
          this.#confirm(piece.length);
        } else if (this.#hasEnded) {
          if (this.#error !== undefined) throw this.#error;
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      if (!this.#hasEnded) this.#left();
      this.drop();
    }
  }

  #confirm(bytes: number): void {
    this.#unconfirmed += bytes;
    if (this.#unconfirmed < CONFIRMED_BYTES || this.#hasEnded) return;
    this.#took(this.#unconfirmed);
    this.#unconfirmed = 0;
  }

  /** Drops pieces that will not be consumed. */
  drop(): void {
    this.#pieces.length = 0;
    this.#release(this.#bytes);
  }

  /** Stops counting a piece. A piece consumed after a drop is not counted twice. */
  #release(bytes: number): void {
    const counted = Math.min(bytes, this.#bytes);
    this.#bytes -= counted;
    this.#memory.give(counted);
  }
}

/** Size of two reads of a socket. A writer does not wait for each piece while the window is open. */
const AHEAD_BYTES = 131_072;

/** A body that is sent at the pace of its reader at the other end. */
export class OutgoingBody extends Writable {
  readonly #send: (piece: Buffer) => void;
  readonly #sendEnd: () => void;
  #window = LINK_WINDOW_BYTES;
  #rest: Buffer | undefined;
  #sent: () => void = () => {};

  constructor(send: (piece: Buffer) => void, sendEnd: () => void) {
    super({ highWaterMark: AHEAD_BYTES });
    this.#send = send;
    this.#sendEnd = sendEnd;
  }

  /** The other end consumed bytes. */
  widen(bytes: number): void {
    this.#window += bytes;
    this.#sendPieces();
  }

  override _write(piece: Buffer, _encoding: unknown, done: () => void): void {
    this.#rest = piece;
    this.#sent = done;
    this.#sendPieces();
  }

  override _final(done: () => void): void {
    this.#sendEnd();
    done();
  }

  #sendPieces(): void {
    const rest = this.#rest;
    if (rest === undefined || this.#window <= 0) return;
    const part = rest.subarray(0, this.#window);
    this.#window -= part.length;
    this.#send(part);
    this.#rest = part.length < rest.length ? rest.subarray(part.length) : undefined;
    if (this.#rest === undefined) this.#sent();
  }
}
