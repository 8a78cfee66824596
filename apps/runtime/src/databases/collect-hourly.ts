import { toProblem } from "@appdb/contract/errors";
import type { Endpoints } from "@appdb/engine/endpoints/open-endpoints";
import type { Logger } from "@appdb/engine/ports";

const HOUR_MS = 3_600_000;

/** Removes expired data of a service now and then every hour, until it is disposed. */
export function collectHourly(endpoints: Pick<Endpoints, "collect">, log: Logger): Disposable {
  let isEnded = false;
  const collect = (): void => {
    endpoints.collect().then(
      (removed) => log.debug({ removed }, "expired answers removed"),
      (error: unknown) => {
        const failure = { code: toProblem(error).code, err: error };
        // A service that ends closes its connections; the next start collects again.
        if (isEnded) log.debug(failure, "removing expired answers was interrupted by the service's end");
        // The next run retries; remaining answers only use space.
        else log.warn(failure, "expired answers could not be removed");
      },
    );
  };
  const timer = setInterval(collect, HOUR_MS);
  timer.unref();
  collect();
  return {
    [Symbol.dispose]: () => {
      isEnded = true;
      clearInterval(timer);
    },
  };
}
