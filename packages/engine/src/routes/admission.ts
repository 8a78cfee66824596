import { appError } from "@appdb/contract/errors";

/** Limits concurrent work; the rest waits in a queue. */
export class Admission {
  readonly #max: number;
  readonly #maxWaiting: number;
  readonly #what: string;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  /** `what`: the work for people, in the plural. */
  constructor(max: number, maxWaiting: number, what: string) {
    this.#max = max;
    this.#maxWaiting = maxWaiting;
    this.#what = what;
  }

  /** Runs `work` when a slot is free. @throws overloaded when too many wait; the signal's reason before it runs */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.#taken < this.#max) this.#taken += 1;
    else await this.#wait(signal);
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#taken -= 1;
      else next();
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length === this.#maxWaiting) {
      throw appError("overloaded", {
        detail: `${this.#maxWaiting} ${this.#what} are already waiting.`,
        hint: "Send the request again in a moment.",
        meta: { waiting: this.#maxWaiting },
      });
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(signal.reason);
      };
      const enter = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(enter);
    });
  }
}
