/** Runs the work of one key one after the other, in the order in which it came. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs `work` once all earlier work of this key has ended, well or badly. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const mine = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const ended = mine.then(nothing, nothing);
    this.#last.set(key, ended);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    }
  }

  /** Resolves when no work runs or waits. */
  async drain(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}

function nothing(): void {}
