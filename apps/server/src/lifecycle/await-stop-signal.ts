import type { Logger } from "@appdb/engine/ports";

/**
 * Resolves with the first signal that stops this process. Further signals have no effect: a stop that they cut short
 * would leave pods and PostgreSQL running. SIGHUP, which a closed terminal sends, stops too.
 */
export function awaitStopSignal(log: Logger): Promise<string> {
  return new Promise((resolve) => {
    let first: string | undefined;
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
      process.on(signal, () => {
        if (first === undefined) resolve(signal);
        else log.info({ signal, first }, "a stop was requested already: this signal has no effect");
        first ??= signal;
      });
    }
  });
}
