import { setMaxListeners } from "node:events";

/**
 * Lets requests that ask the same at the same time share one run. A request never gets the answer of a run that began
 * before it came: it joins the one that is next, so that everybody reads what was stored before they asked.
 */
export class SharedAnswers<Answer> {
  readonly #runs = new Map<string, Runs<Answer>>();

  /** Runs `start` for a key, or joins whoever runs it next. The run's signal aborts when all who wait for it are gone. */
  run(key: string, start: (signal: AbortSignal) => Promise<Answer>, signal?: AbortSignal): Promise<Answer> {
    const runs = this.#runs.get(key) ?? { running: 0, next: undefined };
    this.#runs.set(key, runs);
    if (runs.running < AT_A_TIME) return this.#begin(key, runs, new Shared(start)).wait(signal);
    runs.next ??= new Shared(start);
    return runs.next.wait(signal);
  }

  #begin(key: string, runs: Runs<Answer>, shared: Shared<Answer>): Shared<Answer> {
    runs.running += 1;
    shared.begin(() => {
      runs.running -= 1;
      const { next } = runs;
      runs.next = undefined;
      if (next !== undefined) this.#begin(key, runs, next);
      else if (runs.running === 0) this.#runs.delete(key);
    });
    return shared;
  }
}

/** Two, so that a run that takes long does not double everybody's wait. */
const AT_A_TIME = 2;

interface Runs<Answer> {
  running: number;
  next: Shared<Answer> | undefined;
}

class Shared<Answer> {
  readonly #start: (signal: AbortSignal) => Promise<Answer>;
  readonly #controller = new AbortController();
  readonly #answer: Promise<Answer>;
  #settle: (answer: Promise<Answer>) => void = () => undefined;
  #waiting = 0;

  constructor(start: (signal: AbortSignal) => Promise<Answer>) {
    this.#start = start;
    // Each row that is with Python listens.
    setMaxListeners(0, this.#controller.signal);
    this.#answer = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  begin(onEnd: () => void): void {
    const answer = this.#start(this.#controller.signal);
    this.#settle(answer);
    answer.then(onEnd, onEnd);
  }

  wait(signal: AbortSignal | undefined): Promise<Answer> {
    this.#waiting += 1;
    if (signal === undefined) return this.#answer;
    const leave = () => {
      this.#waiting -= 1;
      if (this.#waiting === 0) this.#controller.abort();
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    return this.#answer.finally(() => signal.removeEventListener("abort", leave));
  }
}
