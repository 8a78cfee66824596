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

/** Marks a response that is a stored answer to an earlier, equal request. */
export const REPLAYED_HEADER = "idempotency-replayed";

/**
 * Runs each request of an idempotency key once. Another request with the same key waits until the first one ends. It
 * then gets the stored answer, or runs itself if nothing was stored. This class handles waiting within one process.
 * Between processes, PostgreSQL waits at the row of the key.
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
   * Returns the answer of `work`, or the stored answer of the first request with this key. `work` must pass the request
   * to the code that stores its rows, so that both are stored together. `looks_first`: `work` is expensive, so look for
   * a stored answer before running it.
   * @throws idempotency_mismatch; any error of `work` if no answer is stored
   */
  run(once: Once, looksFirst: boolean, work: () => Promise<KeptAnswer>): Promise<KeptAnswer> {
    const before = this.#running.get(once.id);
    if (before !== undefined) return this.#runAfter(before, once, work);
    const answer = this.#work(once, looksFirst, work);
    this.#running.set(once.id, answer);
    return answer;
  }

  /** Resolves when no lookup runs. */
  drain(): Promise<void> {
    return this.#finds.drain();
  }

  /** Removes expired answers. Returns their number. */
  collect(): Promise<number> {
    return this.#store.collect();
  }

  async #runAfter(before: Promise<unknown>, once: Once, work: () => Promise<KeptAnswer>): Promise<KeptAnswer> {
    // The sender of the first request gets its error.
    await before.catch(() => undefined);
    return this.run(once, true, work);
  }

  async #work(once: Once, looksFirst: boolean, work: () => Promise<KeptAnswer>): Promise<KeptAnswer> {
    try {
      const replayed = looksFirst ? await this.#finds.submit(once) : undefined;
      return replayed === undefined ? await work() : replay(once, replayed);
    } catch (error) {
      // An error claims that nothing was stored. That is wrong if the first attempt stored the request: on the second
      // attempt its function may fail or its table may have changed.
      const stored = error instanceof ReplayedRequest ? error.stored : await this.#findAfter(once, error);
      if (stored !== undefined) return replay(once, stored);
      // The answer existed, expired, and has been removed.
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
      // Keep an error that asks for a retry. An error that says nothing was stored may be wrong here.
      throw error instanceof AppError && error.status === 503 ? error : failure;
    }
  }
}

function replay(once: Once, { digest, answer }: KeptRequest): KeptAnswer {
  if (digest === once.digest) return { ...answer, headers: { ...answer.headers, [REPLAYED_HEADER]: "true" } };
  throw appError("idempotency_mismatch", {
    detail: `Idempotency-Key ${once.key} was already used for a different request to this route.`,
    hint: "Send the request with a new key. A key identifies one request and its retries.",
    meta: { key: once.key },
  });
}
