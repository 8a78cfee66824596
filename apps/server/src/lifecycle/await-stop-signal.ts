import type { Logger } from "@appdb/engine/ports";

/** Resolves with the signal that asks this process to stop. */
export function awaitStopSignal(log: Logger): Promise<string> {
  return new Promise((resolve) => {
    let isStopping = false;
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, () => {
        // a second one means it: whoever sends it has waited long enough
        if (isStopping) process.exit(130);
        isStopping = true;
        resolve(signal);
      });
    }
    process.on("SIGHUP", () => log.info({}, "SIGHUP changes nothing: settings are read at the start"));
  });
}
