import type { FromWorker } from "@appdb/contract/worker-protocol";
import type { Logger, QueryAnswerer } from "@appdb/engine/ports";
import { answerQuery } from "./answer-query.ts";
import { CallPools } from "./call-pools.ts";
import { FunctionTotals } from "./function-totals.ts";
import { WorkerFunctions } from "./worker-functions.ts";
import type { ReadyFrame } from "./worker-process.ts";
import type { WorkerSlot } from "./worker-slot.ts";

export type RequestFrame = Extract<
  FromWorker,
  { t: "acquire" | "release" | "query" | "beat" | "route" | "problem" | `http_${string}` }
>;

export interface WorkerRequestsOptions {
  readonly onQuery?: QueryAnswerer;
  readonly log: Logger;
}

/** Messages of workers besides row results: requests for pools and queries, and counts. */
export class WorkerRequests {
  readonly pools: CallPools;
  readonly functions: WorkerFunctions;
  readonly totals = new FunctionTotals();
  readonly #options: WorkerRequestsOptions;

  constructor(options: WorkerRequestsOptions) {
    this.#options = options;
    this.pools = new CallPools({
      now: () => performance.now(),
      random: Math.random,
      after(ms, work) {
        const timer = setTimeout(work, ms);
        return () => clearTimeout(timer);
      },
    });
    this.functions = new WorkerFunctions(this.pools);
  }

  /** Handles a worker's report at its start. */
  learn(frame: ReadyFrame): void {
    this.functions.learn(frame.functions);
    this.pools.declare(frame.resource_pools);
    for (const [module, error] of Object.entries(frame.missing)) {
      this.#options.log.warn({ module, reason: error.message }, "a module of the application is missing");
    }
  }

  take(slot: WorkerSlot, frame: RequestFrame): void {
    switch (frame.t) {
      case "acquire": {
        const { process } = slot;
        const { ask, pool, attempt, retry_after_s: retryAfterS } = frame;
        this.pools.acquire(slot, ask, pool, attempt, retryAfterS, () => process?.send({ t: "grant", ask }));
        return;
      }
      case "release":
        this.pools.release(slot, frame.ask);
        return;
      case "beat":
        this.totals.add(slot, frame.functions);
        return;
      case "query":
        void this.#answer(slot, frame);
        return;
      default: // a row worker answers no HTTP requests
    }
  }

  /** Removes the requests of a worker that ended. */
  drop(slot: WorkerSlot): void {
    this.pools.drop(slot);
    this.totals.drop(slot);
  }

  end(): void {
    this.pools.end();
  }

  async #answer({ process }: WorkerSlot, frame: Extract<RequestFrame, { t: "query" }>): Promise<void> {
    process?.send(await answerQuery(frame, this.#options));
  }
}
