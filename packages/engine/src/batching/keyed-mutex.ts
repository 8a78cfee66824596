/** Runs the work of one key sequentially, in order of arrival. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs `work` after all earlier work of this key has ended, even if that failed. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const ended = turn.then(nothing, nothing);
    this.#last.set(key, ended);
    try {
      return await turn;
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
