import { setTimeout as sleep } from "node:timers/promises";

/** Between two questions. */
const PAUSE_MS = 500;
/** Questions without an answer, one after the other, each given up after a second: it hangs. That is known within 6.5 s. */
const MOST_SILENT = 4;
/** A question that took so long to give up was not asked in time: this process itself was stopped, or had no processor. */
const LATE_MS = 3_000;

export interface WatchAnswersInput {
  /** Whether it answers; false after a second without an answer. */
  readonly ask: () => Promise<boolean>;
  /** Aborts when it has ended, or nobody wants to know any more. */
  readonly signal: AbortSignal;
  readonly pause_ms?: number;
}

/** Asks again and again; resolves with true once it hangs, and with false when the signal aborts. */
export async function watchAnswers({ ask, pause_ms = PAUSE_MS, signal }: WatchAnswersInput): Promise<boolean> {
  let silent = 0;
  for (;;) {
    await sleep(pause_ms, undefined, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) return false;
    const began = performance.now();
    const answered = await ask();
    if (signal.aborted) return false;
    if (answered) silent = 0;
    else if (performance.now() - began < LATE_MS) silent += 1;
    if (silent >= MOST_SILENT) return true;
  }
}
