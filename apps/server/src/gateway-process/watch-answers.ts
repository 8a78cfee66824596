import { setTimeout as sleep } from "node:timers/promises";

/** Between two questions. */
const PAUSE_MS = 500;
/** So long nobody answers one that hangs, whatever the number of questions: one that is busy answers late. */
const SILENT_MS = 6_000;
/** Questions without an answer, one after the other. */
const MAX_SILENT = 2;
/** How long an answer is waited for. With it, one that hangs is known within 8 s, and another serves within 10 s. */
export const ANSWER_MS = 3_000;
/** A question that took so long to give up was not asked in time: this process itself was stopped, or had no processor. */
const LATE_MS = ANSWER_MS + 2_000;

export interface WatchAnswersInput {
  /** Whether it answers; false after `ANSWER_MS` without an answer. */
  readonly ask: () => Promise<boolean>;
  /** Aborts when it has ended, or nobody wants to know any more. */
  readonly signal: AbortSignal;
  readonly pause_ms?: number;
  readonly silent_ms?: number;
}

/** Asks again and again; resolves with true once it hangs, and with false when the signal aborts. */
export async function watchAnswers({
  ask,
  pause_ms: pauseMs = PAUSE_MS,
  signal,
  silent_ms: silentMs = SILENT_MS,
}: WatchAnswersInput): Promise<boolean> {
  let silent = 0;
  let silentSince = 0;
  for (;;) {
    await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) return false;
    const began = performance.now();
    const answered = await ask();
    if (signal.aborted) return false;
    const ended = performance.now();
    if (answered || ended - began >= LATE_MS) {
      silent = 0;
      continue;
    }
    if (silent === 0) silentSince = began;
    silent += 1;
    if (silent >= MAX_SILENT && ended - silentSince >= silentMs) return true;
  }
}
