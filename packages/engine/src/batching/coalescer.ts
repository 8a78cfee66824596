import { appError } from "@appdb/contract/errors";

/** The outcome of one item of a batch. `later`: the item continues on its own, and the batch does not wait for it. */
export type Outcome<Answer> =
  | { readonly answer: Answer }
  | { readonly error: unknown }
  | { readonly later: () => Promise<Answer> };

/** The outcome of a finished item without an answer. */
export const DONE: Outcome<void> = { answer: undefined };

/** Limits for batches of rows and for the queue of waiting rows. */
export const BATCHING = {
  batches_in_flight: 2,
  batch_items: 512,
  batch_bytes: 8_000_000,
  waiting_items: 10_000,
  waiting_bytes: 256_000_000,
} as const;

export interface CoalescerOptions<Item, Answer> {
  /** Returns one outcome per item, in order. If it throws, every item of the batch gets that error. */
  readonly run: (items: readonly Item[]) => Promise<readonly Outcome<Answer>[]>;
  /** Approximate size of an item in memory. Limits batches and the queue. */
  readonly weigh: (item: Item) => number;
  readonly batches_in_flight: number;
  readonly batch_items: number;
  readonly batch_bytes: number;
  readonly waiting_items: number;
  readonly waiting_bytes: number;
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly bytes: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs items together that are ready at the same time, and never waits for more. Items that arrive in one turn of the
 * event loop form a batch. Items that arrive while the maximum number of batches is in flight join the next batch.
 */
export class Coalescer<Item, Answer> {
  readonly #options: CoalescerOptions<Item, Answer>;
  #queue: Waiting<Item, Answer>[] = [];
  #queuedBytes = 0;
  #inFlight = 0;
  #isScheduled = false;
  #idle: (() => void)[] = [];

  constructor(options: CoalescerOptions<Item, Answer>) {
    this.#options = options;
  }

  /** Resolves with the outcome of the item.
   *  @throws overloaded when too many items wait */
  submit(item: Item): Promise<Answer> {
    const bytes = this.#options.weigh(item);
    if (this.#queue.length >= this.#options.waiting_items || this.#queuedBytes + bytes > this.#options.waiting_bytes) {
      return Promise.reject(
        appError("overloaded", {
          detail: `${this.#queue.length} rows are already waiting for the database.`,
          hint: "Send the request again in a moment.",
        }),
      );
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, bytes, resolve, reject });
      this.#queuedBytes += bytes;
      this.#schedule();
    });
  }

  /** Resolves when no item waits and no batch runs. */
  async drain(): Promise<void> {
    while (this.#queue.length > 0 || this.#inFlight > 0) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
  }

  #schedule(): void {
    if (this.#isScheduled || this.#inFlight >= this.#options.batches_in_flight) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#start();
    });
  }

  #start(): void {
    while (this.#queue.length > 0 && this.#inFlight < this.#options.batches_in_flight) {
      const batch = this.#take();
      this.#inFlight += 1;
      void this.#run(batch);
    }
  }

  #take(): Waiting<Item, Answer>[] {
    const { batch_items: batchItems, batch_bytes: batchBytes } = this.#options;
    let bytes = 0;
    let count = 0;
    while (count < this.#queue.length && count < batchItems) {
      const next = this.#queue[count]?.bytes ?? 0;
      if (count > 0 && bytes + next > batchBytes) break;
      bytes += next;
      count += 1;
    }
    this.#queuedBytes -= bytes;
    if (count === this.#queue.length) {
      const all = this.#queue;
      this.#queue = [];
      return all;
    }
    return this.#queue.splice(0, count);
  }

  async #run(batch: readonly Waiting<Item, Answer>[]): Promise<void> {
    try {
      const outcomes = await this.#options.run(batch.map((waiting) => waiting.item));
      for (let index = 0; index < batch.length; index++) settle(batch[index], outcomes[index]);
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
    }
    this.#inFlight -= 1;
    this.#start();
    if (this.#queue.length === 0 && this.#inFlight === 0) {
      for (const resolve of this.#idle.splice(0)) resolve();
    }
  }
}

function settle<Item, Answer>(waiting: Waiting<Item, Answer> | undefined, outcome: Outcome<Answer> | undefined): void {
  if (waiting === undefined) return;
  if (outcome === undefined) waiting.reject(new Error("A batch gave fewer outcomes than it had items."));
  else if ("error" in outcome) waiting.reject(outcome.error);
  else if ("later" in outcome) outcome.later().then(waiting.resolve, waiting.reject);
  else waiting.resolve(outcome.answer);
}
