interface PieceEvents {
  onTaken(bytes: number): void;
  onLeft(): void;
}

/** Pieces of a body that one side pushes and the other iterates over, once. */
export class PieceQueue {
  #pieces: Uint8Array[] = [];
  #isEnded = false;
  #error: unknown;
  #wake: (() => void) | undefined;

  push(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#wake?.();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  /** Makes iteration throw this error after the existing pieces. */
  fail(error: unknown): void {
    this.#error ??= error;
    this.end();
  }

  /**
   * Iterates over the pieces as they arrive. `onTaken` is called for each consumed piece; `onLeft` immediately when the
   * reader leaves. A generator would not notice that before it starts, as for a HEAD, or while it waits for a piece.
   */
  iterate(events: PieceEvents): AsyncIterableIterator<Uint8Array> {
    const pieces = this.#read(events);
    let hasLeft = false;
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      next: () => pieces.next(),
      return: () => {
        if (!hasLeft && !this.#isEnded) events.onLeft();
        hasLeft = true;
        return pieces.return();
      },
    };
  }

  async *#read(events: PieceEvents): AsyncGenerator<Uint8Array, void> {
    while (true) {
      const piece = this.#pieces.shift();
      if (piece !== undefined) {
        yield piece;
        events.onTaken(piece.length);
      } else if (this.#isEnded) {
        if (this.#error !== undefined) throw this.#error;
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}
