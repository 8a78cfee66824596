import type { Logger } from "@appdb/engine/ports";

/** Resolves with the signal that stops this process. */
export function awaitStopSignal(log: Logger): Promise<string> {
  return new Promise((resolve) => {
    let isStopping = false;
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, () => {
        // the second signal exits at once: the sender has waited long enough
        if (isStopping) process.exit(130);
        isStopping = true;
        resolve(signal);
      });
    }
    process.on("SIGHUP", () => log.info({}, "SIGHUP has no effect: settings are read at the start"));
  });
}
