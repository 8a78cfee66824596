/** Graphs that a worker knows at a time. A table has one for each combination of outputs that requests compute. */
export const KNOWN_GRAPHS = 256;

/**
 * The numbers under which one process knows graphs, by their keys. Beyond the maximum, the graph that was used least
 * recently gives its number away, unless it runs.
 */
export class GraphNumbers {
  readonly #numbers = new Map<string, number>();

  /** Returns the number of a graph, and whether the process still needs the graph. `isRunning`: by key. */
  numberOf(key: string, isRunning: (key: string) => boolean): { readonly number: number; readonly is_new: boolean } {
    const known = this.#numbers.get(key);
    const number = known ?? this.#free(isRunning);
    // the last one used is the last to lose its number
    this.#numbers.delete(key);
    this.#numbers.set(key, number);
    return { number, is_new: known === undefined };
  }

  clear(): void {
    this.#numbers.clear();
  }

  #free(isRunning: (key: string) => boolean): number {
    if (this.#numbers.size >= KNOWN_GRAPHS) {
      for (const [key, number] of this.#numbers) {
        if (isRunning(key)) continue;
        this.#numbers.delete(key);
        return number;
      }
    }
    return this.#numbers.size + 1;
  }
}
