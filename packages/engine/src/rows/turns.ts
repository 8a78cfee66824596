/** Lets those who want the same thing have it one after the other, in the order in which they came. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs `work` once all earlier work under this name has ended, well or badly. */
  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const mine = (this.#last.get(name) ?? Promise.resolve()).then(work);
    const ended = mine.then(nothing, nothing);
    this.#last.set(name, ended);
    try {
      return await mine;
    } finally {
      if (this.#last.get(name) === ended) this.#last.delete(name);
    }
  }

  /** Resolves when nobody has a turn or waits for one. */
  async drain(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }
}

function nothing(): void {}
