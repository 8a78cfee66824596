import { restartPause } from "@appdb/system/processes/restart-pause";
import type { PodExit } from "./pod-driver.ts";

/** A pod that ends within this after it was ready is waited for longer before it is started again. */
const QUICK_MS = 10_000;
const WINDOW_MS = 600_000;
const MAX_LOSSES = 6;
/** Signals that come from outside: a person's, or the system's when it is shut down. The others tell of a crash. */
const KILLS: ReadonlySet<string> = new Set(["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"]);

/** How a pod that was ready was lost. */
export interface PodLoss {
  readonly at: number;
  readonly ready_ms: number;
  readonly exit: PodExit;
}

/** What is remembered of a pod's losses from one to the next. */
export interface LossHistory {
  readonly quick_ends: number;
  /** When it ended by its own doing, not long ago. */
  readonly own_ends: readonly number[];
}

export const NO_LOSSES: LossHistory = { quick_ends: 0, own_ends: [] };

/**
 * Decides after a loss how long to wait before the pod is started again; `pause_ms` is undefined to give up, which is after six
 * ends of its own doing in ten minutes. Whom something outside killed is never given up, but waited for longer each time.
 */
export function judgeLoss(
  history: LossHistory,
  { at, ready_ms: readyMs, exit }: PodLoss,
): { readonly history: LossHistory; readonly pause_ms: number | undefined } {
  const quickEnds = readyMs < QUICK_MS ? history.quick_ends + 1 : 0;
  const wasKilled = exit.signal !== null && KILLS.has(exit.signal) && !exit.is_out_of_memory;
  const recent = history.own_ends.filter((before) => at - before < WINDOW_MS);
  const ownEnds = wasKilled ? recent : [...recent, at];
  const givesUp = !wasKilled && ownEnds.length >= MAX_LOSSES;
  return {
    history: { quick_ends: quickEnds, own_ends: ownEnds },
    pause_ms: givesUp ? undefined : restartPause(quickEnds),
  };
}

/** How a pod ended, the rest of a sentence that begins with it. */
export function describeExit(exit: PodExit | null): string {
  if (exit?.is_out_of_memory === true) return "it needed more memory than its database has";
  if (exit?.signal != null) return `it was ended by ${exit.signal}`;
  return exit?.code == null ? "it ended, and the reason is unknown" : `it ended with code ${exit.code}`;
}
