import { randomUUID } from "node:crypto";
import type { Endpoints } from "@appdb/engine/endpoints/open-endpoints";
import type { Logger } from "@appdb/engine/ports";

/** What jobs that run have to end when the service stops: less than the service itself has. */
const DRAIN_MS = 5_000;

export interface BackgroundWork extends AsyncDisposable {
  /** Takes no further job; those that run may end. */
  stop(): void;
}

/** Works on the background jobs of a service's routes. Disposing waits for those that run, for a time, and gives them back. */
export function workInBackground(endpoints: Pick<Endpoints, "background">, log: Logger): BackgroundWork {
  const stopping = new AbortController();
  const runner = endpoints.background(randomUUID());
  const running = runner?.run(stopping.signal, DRAIN_MS).catch((error: unknown) => {
    log.error({ err: error }, "background jobs are not worked on any more");
  });
  return {
    stop: () => stopping.abort(),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await running;
    },
  };
}
