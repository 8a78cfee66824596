import { type AppError, appError } from "@appdb/contract/errors";
import type { WorkerEnd } from "./worker-process.ts";

const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 30_000;
/** After this many failures in a row, callers get an error instead of waiting. */
const MAX_START_FAILURES = 3;

/** Counts consecutive failed starts, delays the next ones, and makes the callers' error. */
export class StartBackoff {
  #failures = 0;
  #retryAt = 0;
  #end: WorkerEnd | undefined;

  failed(end: WorkerEnd, now: number): void {
    this.#end = end;
    this.#retryAt = now + Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures);
    this.#failures += 1;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#retryAt = 0;
    this.#end = undefined;
  }

  /** Milliseconds until the next start. */
  wait(now: number): number {
    return Math.max(0, Math.ceil(this.#retryAt - now));
  }

  /** Whether waiting is pointless: the modules cannot be imported, or several starts have failed. */
  get isHopeless(): boolean {
    return this.#end?.import_error !== undefined || this.#failures >= MAX_START_FAILURES;
  }

  /** Explains why there is no worker. */
  error(modules: readonly string[]): AppError {
    const failure = this.#end?.import_error;
    const missing = /^cannot be started: spawn (.+) ENOENT/.exec(this.#end?.reason ?? "")?.[1];
    if (missing !== undefined) {
      return appError("worker_unavailable", {
        detail: `The Python of the last update is missing: ${missing} no longer exists.`,
        hint: "Run the update again to find the current Python: cli schema update <file> <target>; for a service cli service update <file> <target>",
        meta: { failures: this.#failures },
      });
    }
    if (failure === undefined) {
      return appError("worker_unavailable", {
        detail: `The Python worker could not be started: ${this.#end?.reason ?? "no reason is known"}.`,
        hint: "Read the output of Python in the service's log.",
        meta: { failures: this.#failures },
      });
    }
    const at = failure.at === null ? "" : ` (${failure.at})`;
    return appError("worker_unavailable", {
      detail: `The application's modules cannot be imported: ${failure.type}: ${failure.message}${at}.`,
      hint: "Correct the module, then restart the service.",
      meta: { modules, type: failure.type, message: failure.message, at: failure.at },
    });
  }
}
