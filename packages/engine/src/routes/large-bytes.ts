/** Bytes of bodies in memory together. The first bytes of each body are not counted, so that small bodies always fit. */
export class LargeBytes {
  readonly #max: number;
  readonly #free: number;
  #counted = 0;

  constructor(max: number, free: number) {
    this.#max = max;
    this.#free = free;
  }

  /** Whether a body of `before` bytes can have `after`. */
  fits(before: number, after: number): boolean {
    const more = this.#part(after) - this.#part(before);
    return more <= 0 || this.#counted + more <= this.#max;
  }

  /** A body of `before` bytes has `after`. */
  change(before: number, after: number): void {
    this.#counted += this.#part(after) - this.#part(before);
  }

  #part(bytes: number): number {
    return Math.max(0, bytes - this.#free);
  }
}
