import { AppError, appError } from "@appdb/contract/errors";
import { BATCHING, Coalescer } from "../batching/coalescer.ts";
import {
  isKeyTaken,
  type KeptAnswer,
  type KeptRequest,
  type Once,
  ReplayedRequest,
  type RequestStore,
} from "./request-store.ts";

/** Stands in an answer that was given before, to the same request. */
export const REPLAYED_HEADER = "idempotency-replayed";

/**
 * Lets each request of a key be done once. Another one with its key waits while it runs, and is then answered the same,
 * or done itself when nothing was stored. In one process the waiting is here; between processes it is PostgreSQL's, at
 * the row of the key.
 */
export class AnswerOnce {
  readonly #store: RequestStore;
  readonly #running = new Map<string, Promise<unknown>>();
  readonly #finds: Coalescer<Once, KeptRequest | undefined>;

  constructor(store: RequestStore) {
    this.#store = store;
    this.#finds = new Coalescer({
      ...BATCHING,
      weigh: ({ scope, key }) => scope.length + key.length + 64,
      run: async (requests) => {
        const found = await store.find(requests);
        return requests.map((once) => ({ answer: found.get(once.id) }));
      },
    });
  }

  /**
   * Answers what `work` answers, or what the first request of this key was answered. `work` must hand the request to
   * whoever stores its rows, so that the answer is kept with them. `looks_first`: work is dear, so a kept answer is looked
   * for before it and not only when the key turns out to be taken.
   * @throws idempotency_mismatch; whatever `work` throws, if no answer is kept
   */
  run(once: Once, looksFirst: boolean, work: () => Promise<KeptAnswer>): Promise<KeptAnswer> {
    const before = this.#running.get(once.id);
    if (before !== undefined) return this.#runAfter(before, once, work);
    const answer = this.#work(once, looksFirst, work);
    this.#running.set(once.id, answer);
    return answer;
  }

  /** Resolves when nothing is looked for. */
  drain(): Promise<void> {
    return this.#finds.drain();
  }

  /** Removes the answers that have expired. Gives how many. */
  collect(): Promise<number> {
    return this.#store.collect();
  }

  async #runAfter(before: Promise<unknown>, once: Once, work: () => Promise<KeptAnswer>): Promise<KeptAnswer> {
    // What became of the first is told to whoever sent it.
    await before.catch(() => undefined);
    return this.run(once, true, work);
  }

  async #work(once: Once, looksFirst: boolean, work: () => Promise<KeptAnswer>): Promise<KeptAnswer> {
    try {
      const kept = looksFirst ? await this.#finds.submit(once) : undefined;
      return kept === undefined ? await work() : replay(once, kept);
    } catch (error) {
      // An error says that nothing was stored. That must not be said of a request that was stored the first time: its
      // function may fail at the second, its table may have changed.
      const stored = error instanceof ReplayedRequest ? error.stored : await this.#findAfter(once, error);
      if (stored !== undefined) return replay(once, stored);
      // It was there and has expired, and is gone now.
      if (isKeyTaken(error)) return await work();
      throw error;
    } finally {
      this.#running.delete(once.id);
    }
  }

  async #findAfter(once: Once, error: unknown): Promise<KeptRequest | undefined> {
    try {
      return await this.#finds.submit(once);
    } catch (failure) {
      // An error that asks for a new attempt stands; one that says that nothing was stored is not known to be true.
      throw error instanceof AppError && error.status === 503 ? error : failure;
    }
  }
}

function replay(once: Once, { digest, answer }: KeptRequest): KeptAnswer {
  if (digest === once.digest) return { ...answer, headers: { ...answer.headers, [REPLAYED_HEADER]: "true" } };
  throw appError("idempotency_mismatch", {
    detail: `Idempotency-Key ${once.key} came before, with another request to this route.`,
    hint: "Send the request with a new key; a key stands for one request and its repetitions.",
    meta: { key: once.key },
  });
}
