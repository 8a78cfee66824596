import { randomUUID } from "node:crypto";
import type { Endpoints } from "@appdb/engine/endpoints/open-endpoints";
import type { Logger } from "@appdb/engine/ports";

/** Time for running jobs when the service stops; shorter than the service's own. */
const DRAIN_MS = 5_000;

export interface BackgroundWork extends AsyncDisposable {
  /** Accepts no further jobs; running ones may end. */
  stop(): void;
}

/**
 * Runs the background jobs of a service's routes. Disposing waits for running ones up to a timeout, then releases them.
 */
export function workInBackground(endpoints: Pick<Endpoints, "background">, log: Logger): BackgroundWork {
  const stopping = new AbortController();
  const runner = endpoints.background(randomUUID());
  const running = runner?.run(stopping.signal, DRAIN_MS).catch((error: unknown) => {
    log.error({ err: error }, "background jobs stopped after an error");
  });
  return {
    stop: () => stopping.abort(),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await running;
    },
  };
}
