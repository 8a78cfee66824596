/** A chunk should take about this long: short beside a person's patience, long beside the cost of a frame. */
const CHUNK_MS = 15;
const MAX_CHUNK_ROWS = 256;
/** Of rows that go out as columns: nobody waits for the first of them. */
const MAX_PART_ROWS = 1_024;
/** Rows quicker than this may wait behind another chunk in the same worker, so that it never idles. */
const FAST_ROW_MS = 1;
/** How much the last chunk says about the next. */
const WEIGHT = 0.5;

/** How long the rows of one graph take, and so how many go into a chunk. */
export class Pace {
  /** Nothing is known at first: chunks of a few rows. */
  #rowMs = 4;

  /** How many rows a chunk may have. */
  get chunkRows(): number {
    return this.#rows(MAX_CHUNK_ROWS);
  }

  /** How many rows a part of a batch may have. */
  get partRows(): number {
    return this.#rows(MAX_PART_ROWS);
  }

  /** Whether a second chunk may be in flight behind a first. */
  get isFast(): boolean {
    return this.#rowMs <= FAST_ROW_MS;
  }

  /** Takes note of `rows` rows that took `ms` together. */
  note(rows: number, ms: number): void {
    this.#rowMs = this.#rowMs * (1 - WEIGHT) + Math.max(ms / rows, 0.001) * WEIGHT;
  }

  #rows(most: number): number {
    return Math.max(1, Math.min(most, Math.floor(CHUNK_MS / this.#rowMs)));
  }
}
