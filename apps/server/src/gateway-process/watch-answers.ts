import { setTimeout as sleep } from "node:timers/promises";

/** Pause between two questions. */
const PAUSE_MS = 500;
/** A hang requires at least this silence, whatever the number of questions: a busy process answers late. */
const SILENT_MS = 6_000;
/** Consecutive unanswered questions. */
const MAX_SILENT = 2;
/** Timeout of a question. A hang is detected within 8 s, and the next gateway serves within 10 s. */
export const ANSWER_MS = 3_000;
/** A question that took this long was itself delayed: this process was stopped or had no CPU. */
const LATE_MS = ANSWER_MS + 2_000;

const TIME = {
  now: () => performance.now(),
  wait: async (ms: number, signal: AbortSignal) => {
    await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined);
  },
};

export interface WatchAnswersInput {
  /** Whether it answers. False after `ANSWER_MS` without an answer. */
  readonly ask: () => Promise<boolean>;
  /** Aborts when the process ended or the watch is over. */
  readonly signal: AbortSignal;
  readonly pause_ms?: number;
  readonly silent_ms?: number;
  /** Default: the machine's. */
  readonly time?: typeof TIME;
}

/** Asks repeatedly. Resolves with true once the process hangs, with false when the signal aborts. */
export async function watchAnswers({
  ask,
  pause_ms: pauseMs = PAUSE_MS,
  signal,
  silent_ms: silentMs = SILENT_MS,
  time = TIME,
}: WatchAnswersInput): Promise<boolean> {
  let silent = 0;
  let silentSince = 0;
  for (;;) {
    await time.wait(pauseMs, signal);
    if (signal.aborted) return false;
    const startedAt = time.now();
    const answered = await ask();
    if (signal.aborted) return false;
    const ended = time.now();
    if (answered || ended - startedAt >= LATE_MS) {
      silent = 0;
      continue;
    }
    if (silent === 0) silentSince = startedAt;
    silent += 1;
    if (silent >= MAX_SILENT && ended - silentSince >= silentMs) return true;
  }
}
