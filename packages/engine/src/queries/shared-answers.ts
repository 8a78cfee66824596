import { setMaxListeners } from "node:events";

/**
 * Lets equal concurrent requests share one run. A request never gets the result of a run that started before it. It
 * joins the next run, so that every request sees all earlier writes.
 */
export class SharedAnswers<Answer> {
  readonly #runs = new Map<string, Runs<Answer>>();

  /** Runs `start` for a key, or joins the next run. The run's signal aborts when all its waiters have left. */
  run(key: string, start: (signal: AbortSignal | undefined) => Promise<Answer>, signal?: AbortSignal): Promise<Answer> {
    const runs = this.#runs.get(key) ?? { running: 0, next: undefined };
    this.#runs.set(key, runs);
    if (runs.running < AT_A_TIME) {
      const shared = new Shared(start);
      const answer = shared.wait(signal);
      this.#begin(key, runs, shared);
      return answer;
    }
    runs.next ??= new Shared(start);
    return runs.next.wait(signal);
  }

  #begin(key: string, runs: Runs<Answer>, shared: Shared<Answer>): void {
    runs.running += 1;
    shared.begin(() => {
      runs.running -= 1;
      const { next } = runs;
      runs.next = undefined;
      if (next !== undefined) this.#begin(key, runs, next);
      else if (runs.running === 0) this.#runs.delete(key);
    });
  }
}

/** Two, so that a long run does not double the wait of all others. */
const AT_A_TIME = 2;

interface Runs<Answer> {
  running: number;
  next: Shared<Answer> | undefined;
}

class Shared<Answer> {
  readonly #start: (signal: AbortSignal | undefined) => Promise<Answer>;
  readonly #answer: Promise<Answer>;
  #settle: (answer: Promise<Answer>) => void = () => undefined;
  /** Signals of the waiters; undefined for one that cannot leave. */
  readonly #signals: (AbortSignal | undefined)[] = [];

  constructor(start: (signal: AbortSignal | undefined) => Promise<Answer>) {
    this.#start = start;
    this.#answer = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  begin(onEnd: () => void): void {
    const { signal, release } = joinSignals(this.#signals);
    const answer = this.#start(signal);
    this.#settle(answer);
    const end = () => {
      release();
      onEnd();
    };
    answer.then(end, end);
  }

  wait(signal: AbortSignal | undefined): Promise<Answer> {
    this.#signals.push(signal);
    return this.#answer;
  }
}

/** A signal that aborts when all waiters have left. No one joins a running run, so they are known. */
function joinSignals(signals: readonly (AbortSignal | undefined)[]): {
  readonly signal: AbortSignal | undefined;
  release(): void;
} {
  if (signals.length === 1 || signals.includes(undefined))
    return { signal: signals.length === 1 ? signals[0] : undefined, release: () => undefined };
  const controller = new AbortController();
  // Each row in Python adds a listener.
  setMaxListeners(0, controller.signal);
  const remaining = new Set(signals);
  const leave = (signal: AbortSignal) => () => {
    remaining.delete(signal);
    if (remaining.size === 0) controller.abort();
  };
  const listeners = signals.flatMap((signal) => (signal === undefined ? [] : [{ signal, onAbort: leave(signal) }]));
  for (const { signal, onAbort } of listeners) {
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  }
  return {
    signal: controller.signal,
    release: () => {
      for (const { signal, onAbort } of listeners) signal.removeEventListener("abort", onAbort);
    },
  };
}
