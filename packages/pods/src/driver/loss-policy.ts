import { restartPause } from "@appdb/system/processes/restart-pause";
import type { PodExit } from "./pod-driver.ts";

/** A pod that ends this soon after it was ready is restarted with increasing pauses. */
const QUICK_MS = 10_000;
const WINDOW_MS = 600_000;
const MAX_LOSSES = 6;
/** Signals from outside: sent by a person, or by the system at shutdown. Other signals mean a crash. */
const KILLS: ReadonlySet<string> = new Set(["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"]);

/** How a ready pod was lost. */
export interface PodLoss {
  readonly at: number;
  readonly ready_ms: number;
  readonly exit: PodExit;
}

/** State kept between losses of a pod. */
export interface LossHistory {
  readonly early_exits: number;
  /** Recent times when the pod ended on its own. */
  readonly own_ends: readonly number[];
}

export const NO_LOSSES: LossHistory = { early_exits: 0, own_ends: [] };

/**
 * Decides how long to wait before a lost pod is restarted. `pause_ms` is undefined to give up, after six crashes in ten
 * minutes. A pod killed from outside is never given up; its pauses increase.
 */
export function judgeLoss(
  history: LossHistory,
  { at, ready_ms: readyMs, exit }: PodLoss,
): { readonly history: LossHistory; readonly pause_ms: number | undefined } {
  const earlyExits = readyMs < QUICK_MS ? history.early_exits + 1 : 0;
  const wasKilled = isKill(exit);
  const recent = history.own_ends.filter((before) => at - before < WINDOW_MS);
  const ownEnds = wasKilled ? recent : [...recent, at];
  const givesUp = !wasKilled && ownEnds.length >= MAX_LOSSES;
  return {
    history: { early_exits: earlyExits, own_ends: ownEnds },
    pause_ms: givesUp ? undefined : restartPause(earlyExits),
  };
}

/** Whether a pod was ended from outside. */
export function isKill(exit: PodExit | null): boolean {
  return exit !== null && exit.signal !== null && KILLS.has(exit.signal) && !exit.is_out_of_memory;
}

/** Describes how a pod ended, as the predicate of a sentence about the pod. */
export function describeExit(exit: PodExit | null): string {
  if (exit?.is_out_of_memory === true) return "it needed more memory than its database has";
  if (exit?.signal != null) return `it was ended by ${exit.signal}`;
  return exit?.code == null ? "it ended, and the reason is unknown" : `it ended with code ${exit.code}`;
}
