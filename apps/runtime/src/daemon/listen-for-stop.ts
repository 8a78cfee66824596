import type { Logger } from "@appdb/engine/ports";

export interface StopRequest {
  readonly requested: Promise<string>;
  request(): void;
}

/** Reports when and why the program must end: a signal, a `request`, or an internal error. */
export function listenForStop(name: string, log: Logger): StopRequest {
  let resolve: (reason: string) => void = () => undefined;
  const requested = new Promise<string>((settle) => {
    resolve = settle;
  });
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => resolve(signal));
  // an internal error must not leave PostgreSQL and services running
  process.on("uncaughtException", (error) => {
    log.error({ err: error }, `an unexpected error ends the ${name}`);
    process.exitCode = 1;
    resolve("unexpected error");
  });
  return { requested, request: () => resolve("asked") };
}
