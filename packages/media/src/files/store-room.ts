/** Bytes of a put. `ended_at`: by `performance.now()`. */
interface Claim {
  readonly bytes: number;
  ended_at: number | undefined;
}

/** Bytes that may still be written, and when that was measured, by `performance.now()`. */
export interface MeasuredRoom {
  readonly bytes: number;
  readonly measured_at: number;
}

/** Shares the room of a store among puts at the same time, which the last measurement does not contain. */
export class StoreRoom {
  /** Puts that run, and those that have ended since the disk was measured. */
  readonly #claims = new Set<Claim>();
  readonly #measure: () => Promise<MeasuredRoom | undefined>;
  readonly #full: (reason: string) => Error;

  /** `measure`: undefined where only the disk sets a limit. */
  constructor(measure: () => Promise<MeasuredRoom | undefined>, full: (reason: string) => Error) {
    this.#measure = measure;
    this.#full = full;
  }

  /** Claims room for a put, in one step with the check: puts at the same time cannot share it. @throws what `full` makes */
  async claim(bytes: number): Promise<Claim> {
    const room = await this.#measure();
    const claim: Claim = { bytes, ended_at: undefined };
    this.#check(bytes, room);
    this.#claims.add(claim);
    return claim;
  }

  /** @throws what `full` makes */
  async require(bytes: number): Promise<void> {
    this.#check(bytes, await this.#measure());
  }

  #check(bytes: number, room: MeasuredRoom | undefined): void {
    let claimed = 0;
    for (const claim of this.#claims) {
      // what a put has stored is part of a later measurement
      const isMeasured = claim.ended_at !== undefined && (room === undefined || claim.ended_at < room.measured_at);
      if (isMeasured) this.#claims.delete(claim);
      else claimed += claim.bytes;
    }
    if (bytes === 0 || room === undefined || bytes <= room.bytes - claimed) return;
    const left = Math.max(0, Math.floor(room.bytes - claimed));
    throw this.#full(`${bytes} bytes are to be stored, and there is room for ${left}`);
  }
}
