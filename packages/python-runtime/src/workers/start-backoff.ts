import { type AppError, appError } from "@appdb/contract/errors";
import type { WorkerEnd } from "./worker-process.ts";

const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 30_000;
/** After so many failures in a row callers are told instead of kept waiting. */
const MAX_START_FAILURES = 3;

/** Counts starts that failed in a row, spaces them out, and knows what to tell callers meanwhile. */
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

  /** How long the next start has to wait, in ms. */
  wait(now: number): number {
    return Math.max(0, Math.ceil(this.#retryAt - now));
  }

  /** Waiting does not help: the modules cannot be imported, or several starts have failed. */
  get isHopeless(): boolean {
    return this.#end?.import_error !== undefined || this.#failures >= MAX_START_FAILURES;
  }

  /** Says why there is no worker. */
  error(modules: readonly string[]): AppError {
    const failure = this.#end?.import_error;
    const gone = /^cannot be started: spawn (.+) ENOENT/.exec(this.#end?.reason ?? "")?.[1];
    if (gone !== undefined) {
      return appError("worker_unavailable", {
        detail: `The Python of the last update is missing: ${gone} no longer exists.`,
        hint: "Update once more, by which the Python is found that there is: cli schema update <file> <target>; for a service cli service update <file> <target>",
        meta: { failures: this.#failures },
      });
    }
    if (failure === undefined) {
      return appError("worker_unavailable", {
        detail: `The Python worker could not be started: ${this.#end?.reason ?? "no reason is known"}.`,
        hint: "Look into the service's log for what Python printed.",
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
