/** Target duration of a chunk: imperceptible for users, but long compared with the cost of a frame. */
const CHUNK_MS = 15;
const MAX_CHUNK_ROWS = 256;
/** Limit for rows sent as columns, where no caller waits for the first row. */
const MAX_PART_ROWS = 1_024;
/** Rows faster than this may queue behind another chunk in the same worker, so that it never idles. */
const FAST_ROW_MS = 1;
/** Weight of the last chunk in the estimate. */
const WEIGHT = 0.5;

/** Estimates the duration of a graph's rows and derives chunk sizes. */
export class Pace {
  /** Initial estimate: chunks of a few rows. */
  #rowMs = 4;

  /** Maximum rows of a chunk. */
  get chunkRows(): number {
    return this.#rows(MAX_CHUNK_ROWS);
  }

  /** Maximum rows of a part of a batch. */
  get partRows(): number {
    return this.#rows(MAX_PART_ROWS);
  }

  /** Whether a second chunk may be in flight behind a first. */
  get isFast(): boolean {
    return this.#rowMs <= FAST_ROW_MS;
  }

  /** Records that `rows` rows took `ms` together. */
  note(rows: number, ms: number): void {
    this.#rowMs = this.#rowMs * (1 - WEIGHT) + Math.max(ms / rows, 0.001) * WEIGHT;
  }

  #rows(max: number): number {
    return Math.max(1, Math.min(max, Math.floor(CHUNK_MS / this.#rowMs)));
  }
}
