interface PieceEvents {
  onTaken(bytes: number): void;
  onLeft(): void;
}

/** Pieces of a body that one side pushes and the other iterates over, once. */
export class PieceQueue {
  #pieces: Uint8Array[] = [];
  #isOver = false;
  #error: unknown;
  #wake: (() => void) | undefined;

  push(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#wake?.();
  }

  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  /** Iteration throws this, after the pieces that are there. */
  fail(error: unknown): void {
    this.#error ??= error;
    this.end();
  }

  /**
   * Gives the pieces as they come. `onTaken` is told of each that was taken; `onLeft` when the reader leaves early, also
   * before it has begun, as for a HEAD: a generator would not notice that.
   */
  iterate(events: PieceEvents): AsyncIterableIterator<Uint8Array> {
    const pieces = this.#read(events);
    let hasBegun = false;
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      next() {
        hasBegun = true;
        return pieces.next();
      },
      return() {
        if (!hasBegun) events.onLeft();
        hasBegun = true;
        return pieces.return();
      },
    };
  }

  async *#read(events: PieceEvents): AsyncGenerator<Uint8Array, void> {
    let isWhole = false;
    try {
      while (true) {
        const piece = this.#pieces.shift();
        if (piece !== undefined) {
          yield piece;
          events.onTaken(piece.length);
        } else if (this.#isOver) {
          isWhole = true;
          if (this.#error !== undefined) throw this.#error;
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      if (!isWhole) events.onLeft();
    }
  }
}
