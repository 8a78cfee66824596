import type { Logger } from "@appdb/engine/ports";

export interface StopRequest {
  readonly requested: Promise<string>;
  request(): void;
}

/** Tells when the program is to end, and why: by a signal, by `request`, or by a mistake of ours. */
export function listenForStop(name: string, log: Logger): StopRequest {
  let resolve: (reason: string) => void = () => undefined;
  const requested = new Promise<string>((settle) => {
    resolve = settle;
  });
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => resolve(signal));
  // a mistake of ours must not leave PostgreSQL and services behind
  process.on("uncaughtException", (error) => {
    log.error({ err: error }, `an unexpected error ends the ${name}`);
    process.exitCode = 1;
    resolve("unexpected error");
  });
  return { requested, request: () => resolve("asked") };
}
