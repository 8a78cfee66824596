import type { Clock } from "../ports.ts";

/** How long a batch should take: a slow function must neither hold back what it has computed nor the progress shown. */
const AIM_MS = 300;
const FIRST_ROWS = 32;
const MAX_ROWS = 5_000;
/** A single quick or slow batch changes the size by this factor at most. */
const MAX_GROWTH = 4;

export interface BatchPace {
  /** Rows of the next batch, 1 to 5,000. */
  readonly rows: number;
  /** Says that a batch of `rows` rows has ended now. */
  batchDone(): void;
}

/** Sizes batches by how long the last one took, so that each takes about 0.3 seconds. */
export function createBatchPace(clock: Clock): BatchPace {
  let rows = FIRST_ROWS;
  let began = clock.now();
  return {
    get rows() {
      return rows;
    },
    batchDone() {
      const now = clock.now();
      const factor = AIM_MS / Math.max(1, now - began);
      const bounded = Math.min(MAX_GROWTH, Math.max(1 / MAX_GROWTH, factor));
      rows = Math.min(MAX_ROWS, Math.max(1, Math.round(rows * bounded)));
      began = now;
    },
  };
}
