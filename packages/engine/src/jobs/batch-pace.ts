import type { Clock } from "../ports.ts";

/** Target duration of a batch. A slow function must not delay finished rows or the shown progress. */
const AIM_MS = 300;
const FIRST_ROWS = 32;
const MAX_ROWS = 5_000;
/** Maximum change of the size by a single quick or slow batch. */
const MAX_GROWTH = 4;

export interface BatchPace {
  /** Rows of the next batch, 1 to 5,000. */
  readonly rows: number;
  /** Records the end of a batch with `rows` rows. */
  batchDone(): void;
}

/** Sizes batches by the duration of the last one, so that each takes about 0.3 seconds. */
export function createBatchPace(clock: Clock): BatchPace {
  let rows = FIRST_ROWS;
  let startedAt = clock.now();
  return {
    get rows() {
      return rows;
    },
    batchDone() {
      const now = clock.now();
      const factor = AIM_MS / Math.max(1, now - startedAt);
      const bounded = Math.min(MAX_GROWTH, Math.max(1 / MAX_GROWTH, factor));
      rows = Math.min(MAX_ROWS, Math.max(1, Math.round(rows * bounded)));
      startedAt = now;
    },
  };
}
