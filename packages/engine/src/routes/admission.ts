import { appError } from "@appdb/contract/errors";

/** An owner whose work was ended as slow gives way to others for so long. */
export const GIVES_WAY_S = 30;

/** The place of running work. */
export interface Slot {
  /**
   * Whether work waits that no ending one makes room for yet. Then the caller must end. With `early`, only work of other
   * owners counts, and only for an owner that was slow or has all the slots that one owner can have.
   */
  claim(early?: boolean): boolean;
}

interface Waiting {
  readonly enter: () => void;
  readonly refuse: (error: Error) => void;
}

interface Taken extends Slot {
  readonly owner: string;
}

export interface AdmissionLimits {
  /** Concurrent work of one owner, and of all owners that have any. */
  readonly running: number;
  /** Work beyond that, for owners that have none running: no owner alone has every slot. Default: 0. */
  readonly spare?: number;
  readonly waiting: number;
}

/**
 * Limits concurrent work; the rest waits in a queue, where owners take turns. The owner with the least running work is
 * next, and one whose work was ended as slow comes after others.
 */
export class Admission {
  readonly #max: number;
  readonly #spare: number;
  readonly #maxWaiting: number;
  readonly #what: string;
  readonly #now: () => number;
  /** The owner whose turn it is comes first. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #running = new Map<string, number>();
  readonly #ending = new Set<Slot>();
  /** When owners were slow. */
  readonly #slow = new Map<string, number>();
  #taken = 0;

  /** `what`: the work for people, in the plural. */
  constructor(limits: AdmissionLimits, what: string, now: () => number = () => performance.now()) {
    const { running, spare = 0, waiting } = limits;
    this.#max = running;
    this.#spare = spare;
    this.#maxWaiting = waiting;
    this.#what = what;
    this.#now = now;
  }

  /**
   * Runs `work` when a slot is free. Work of the same owner runs in its order.
   * @throws overloaded when too many wait, also later when another owner has fewer; the signal's reason before it runs
   */
  async run<T>(signal: AbortSignal, work: (slot: Slot) => Promise<T>, owner = ""): Promise<T> {
    signal.throwIfAborted();
    if (this.#isFree(owner)) this.#take(owner);
    else await this.#wait(signal, owner);
    const slot: Taken = { owner, claim: (early = false) => this.#claim(slot, early) };
    try {
      return await work(slot);
    } finally {
      this.#ending.delete(slot);
      this.#leave(owner);
    }
  }

  #isFree(owner: string): boolean {
    if (this.#taken < this.#max) return true;
    return this.#runningOf(owner) === 0 && this.#taken < this.#max + this.#spare;
  }

  #take(owner: string): void {
    this.#taken += 1;
    this.#running.set(owner, this.#runningOf(owner) + 1);
  }

  #leave(owner: string): void {
    this.#taken -= 1;
    const left = this.#runningOf(owner) - 1;
    if (left === 0) this.#running.delete(owner);
    else this.#running.set(owner, left);
    const next = this.#next();
    if (next === undefined) return;
    const queue = this.#waiting.get(next) ?? [];
    const first = queue.shift();
    // its next turn comes after those of the others
    this.#waiting.delete(next);
    if (queue.length > 0) this.#waiting.set(next, queue);
    this.#take(next);
    first?.enter();
  }

  /** The owner whose work runs next. */
  #next(): string | undefined {
    let next: { readonly owner: string; readonly rank: number } | undefined;
    for (const owner of this.#waiting.keys()) {
      if (!this.#isFree(owner)) continue;
      const rank = this.#runningOf(owner) + (this.#wasSlow(owner) ? this.#max : 0);
      if (next === undefined || rank < next.rank) next = { owner, rank };
    }
    return next?.owner;
  }

  #claim(slot: Taken, early: boolean): boolean {
    if (this.#ending.has(slot)) return true;
    const { owner } = slot;
    const waiting = this.#count();
    const ofOthers = waiting - (this.#waiting.get(owner)?.length ?? 0);
    if (early && !this.#wasSlow(owner) && this.#runningOf(owner) < this.#max) return false;
    if ((early ? ofOthers : waiting) <= this.#ending.size) return false;
    this.#ending.add(slot);
    if (ofOthers > 0) this.#rememberSlow(owner);
    return true;
  }

  #wait(signal: AbortSignal, owner: string): Promise<void> {
    if (this.#count() >= this.#maxWaiting) this.#makeRoom(owner);
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        enter: () => {
          signal.removeEventListener("abort", leave);
          resolve();
        },
        refuse: (error) => {
          signal.removeEventListener("abort", leave);
          this.#remove(owner, waiting);
          reject(error);
        },
      };
      const leave = (): void => waiting.refuse(signal.reason);
      signal.addEventListener("abort", leave, { once: true });
      const queue = this.#waiting.get(owner);
      if (queue === undefined) this.#waiting.set(owner, [waiting]);
      else queue.push(waiting);
    });
  }

  /** Refuses the last work of the owner with the most waiting work. @throws overloaded when that is the owner itself */
  #makeRoom(owner: string): void {
    const own = this.#waiting.get(owner)?.length ?? 0;
    const [most = []] = [...this.#waiting.values()].sort((one, other) => other.length - one.length);
    if (most.length <= own + 1) throw this.#tooMany();
    most.at(-1)?.refuse(this.#tooMany());
  }

  #remove(owner: string, waiting: Waiting): void {
    const queue = this.#waiting.get(owner) ?? [];
    queue.splice(queue.indexOf(waiting), 1);
    if (queue.length === 0) this.#waiting.delete(owner);
  }

  #count(): number {
    let count = 0;
    for (const { length } of this.#waiting.values()) count += length;
    return count;
  }

  #runningOf(owner: string): number {
    return this.#running.get(owner) ?? 0;
  }

  #rememberSlow(owner: string): void {
    for (const one of this.#slow.keys()) if (!this.#wasSlow(one)) this.#slow.delete(one);
    this.#slow.set(owner, this.#now());
  }

  #wasSlow(owner: string): boolean {
    return this.#now() - (this.#slow.get(owner) ?? Number.NEGATIVE_INFINITY) < GIVES_WAY_S * 1_000;
  }

  #tooMany(): Error {
    return appError("overloaded", {
      detail: `${this.#maxWaiting} ${this.#what} are already waiting.`,
      hint: "Send the request again in a moment.",
      meta: { waiting: this.#maxWaiting },
    });
  }
}
