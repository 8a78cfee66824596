import { appError } from "@appdb/contract/errors";

/** The place of running work. */
export interface Slot {
  /** Whether work waits that no ending one makes room for yet. Then the caller must end. */
  claim(): boolean;
}

/** Limits concurrent work; the rest waits in a queue. */
export class Admission {
  readonly #max: number;
  readonly #maxWaiting: number;
  readonly #what: string;
  readonly #waiting: (() => void)[] = [];
  readonly #ending = new Set<Slot>();
  #taken = 0;

  /** `what`: the work for people, in the plural. */
  constructor(max: number, maxWaiting: number, what: string) {
    this.#max = max;
    this.#maxWaiting = maxWaiting;
    this.#what = what;
  }

  /** Runs `work` when a slot is free. @throws overloaded when too many wait; the signal's reason before it runs */
  async run<T>(signal: AbortSignal, work: (slot: Slot) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.#taken < this.#max) this.#taken += 1;
    else await this.#wait(signal);
    const slot: Slot = { claim: () => this.#claim(slot) };
    try {
      return await work(slot);
    } finally {
      this.#ending.delete(slot);
      const next = this.#waiting.shift();
      if (next === undefined) this.#taken -= 1;
      else next();
    }
  }

  #claim(slot: Slot): boolean {
    if (!this.#ending.has(slot) && this.#waiting.length <= this.#ending.size) return false;
    this.#ending.add(slot);
    return true;
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
