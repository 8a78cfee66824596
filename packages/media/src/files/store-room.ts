import { readLimitedUse, storeLimitReached } from "@appdb/engine/media/media-objects";
import type { SqlPool } from "@appdb/engine/ports";

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
class StoreRoom {
  /** Puts that run, and those that have ended since the room was measured. */
  readonly #claims = new Set<Claim>();
  readonly #measure: () => Promise<MeasuredRoom | undefined>;
  readonly #full: (bytes: number, left: number) => Error | Promise<Error>;

  /** `measure`: undefined without a limit. `full`: the error for a put of so many bytes, and those that there is room for. */
  constructor(
    measure: () => Promise<MeasuredRoom | undefined>,
    full: (bytes: number, left: number) => Error | Promise<Error>,
  ) {
    this.#measure = measure;
    this.#full = full;
  }

  /** Claims room for a put, in one step with the check: puts at the same time cannot share it. @throws what `full` makes */
  async claim(bytes: number): Promise<Claim> {
    const room = await this.#measure();
    const claim: Claim = { bytes, ended_at: undefined };
    const left = this.#leftOf(room);
    if (bytes > left) throw await this.#full(bytes, left);
    this.#claims.add(claim);
    return claim;
  }

  /** @throws what `full` makes */
  async require(bytes: number): Promise<void> {
    const left = this.#leftOf(await this.#measure());
    if (bytes > left) throw await this.#full(bytes, left);
  }

  #leftOf(room: MeasuredRoom | undefined): number {
    let claimed = 0;
    for (const claim of this.#claims) {
      // what a put has stored is part of a later measurement
      const isMeasured = claim.ended_at !== undefined && (room === undefined || claim.ended_at < room.measured_at);
      if (isMeasured) this.#claims.delete(claim);
      else claimed += claim.bytes;
    }
    return room === undefined ? Number.POSITIVE_INFINITY : Math.max(0, Math.floor(room.bytes - claimed));
  }
}

export interface StoreRoomsOptions {
  readonly sql: SqlPool;
  /** The address of the store. */
  readonly uri: string;
  /** Bytes that the disk still takes; undefined: only the disk of the machine sets a limit. */
  readDisk(): Promise<MeasuredRoom | undefined>;
  /** The error for a reason of the disk. */
  readonly full: (reason: string) => Error;
}

/** A put that has room. */
export interface Room {
  /** Its bytes are part of the next measurement of the store, but still arrive on the disk. */
  recorded(): void;
  end(): void;
}

/** The room of a store with a limit of its own, and that of the disk on which files arrive. */
export class StoreRooms {
  readonly #disk: StoreRoom;
  readonly #limited: StoreRoom;

  constructor({ full, readDisk, sql, uri }: StoreRoomsOptions) {
    this.#disk = new StoreRoom(readDisk, (bytes, left) =>
      full(`${bytes} bytes are to be stored, and there is room for ${left}`),
    );
    this.#limited = new StoreRoom(
      async () => {
        const measuredAt = performance.now();
        const use = await readLimitedUse(sql);
        return use === undefined ? undefined : { bytes: use.limit_bytes - use.bytes, measured_at: measuredAt };
      },
      async (bytes, left) => {
        const use = await readLimitedUse(sql);
        return use === undefined ? full("its limit changes") : storeLimitReached(uri, use, bytes, left);
      },
    );
  }

  /** Claims room for a put. @throws media_store_full */
  async claim(bytes: number): Promise<Room> {
    const inStore = await this.#limited.claim(bytes);
    const recorded = () => {
      inStore.ended_at ??= performance.now();
    };
    try {
      const onDisk = await this.#disk.claim(bytes);
      const end = () => {
        recorded();
        onDisk.ended_at = performance.now();
      };
      return { recorded, end };
    } catch (error) {
      recorded();
      throw error;
    }
  }

  /** @throws media_store_full */
  async require(bytes: number): Promise<void> {
    await this.#limited.require(bytes);
    await this.#disk.require(bytes);
  }
}
