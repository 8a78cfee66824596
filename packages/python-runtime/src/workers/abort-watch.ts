interface Waiting {
  readonly listener: () => void;
  readonly onAbort: Set<() => void>;
}

/** One listener per signal for any number of waiting rows, because a query passes its request's signal to every row. */
export class AbortWatch {
  readonly #signals = new Map<AbortSignal, Waiting>();

  /** Calls `onAbort` once when the signal aborts. Returns a function that removes the callback. */
  add(signal: AbortSignal, onAbort: () => void): () => void {
    const waiting = this.#signals.get(signal) ?? this.#listen(signal);
    waiting.onAbort.add(onAbort);
    return () => {
      waiting.onAbort.delete(onAbort);
      if (waiting.onAbort.size > 0 || this.#signals.get(signal) !== waiting) return;
      this.#signals.delete(signal);
      signal.removeEventListener("abort", waiting.listener);
    };
  }

  #listen(signal: AbortSignal): Waiting {
    const onAbort = new Set<() => void>();
    const listener = () => {
      this.#signals.delete(signal);
      for (const one of onAbort) one();
    };
    signal.addEventListener("abort", listener, { once: true });
    const waiting = { listener, onAbort };
    this.#signals.set(signal, waiting);
    return waiting;
  }
}
