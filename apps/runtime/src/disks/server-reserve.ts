import { appError } from "@appdb/contract/errors";
import type { Logger } from "@appdb/engine/ports";
import type { FullDisk } from "@appdb/postgres/client/refuse-writes";
import { type DiskReserve, describeFloor, describeFreeSpace, readDiskReserve } from "@appdb/system/files/disk-reserve";

/** Databases of a server fill its disk together. None of its disks is faster. */
const FASTEST_BYTES_PER_S = 4 * 1024 ** 3;
const SOONEST_MS = 500;
const LATEST_MS = 5_000;

/** Time until the next check: before the space above the reserve can be used up, at most some seconds. */
export function nextReserveLook({ floor_bytes: floor, free_bytes: free }: DiskReserve): number {
  return Math.min(LATEST_MS, Math.max(SOONEST_MS, ((free - floor) / FASTEST_BYTES_PER_S) * 1_000));
}

export interface ServerReserveDeps {
  /** A folder on the disk of the server. */
  readonly folder: string;
  /** Free bytes below which writes are refused; undefined: never. */
  readonly floor_bytes: number | undefined;
  readonly log: Logger;
  /** Makes PostgreSQL refuse writes that bypass this guard, such as those of services. */
  refuseWrites(isReached: boolean): Promise<void>;
  readonly readReserve?: typeof readDiskReserve;
}

/** Refuses writes while the disk of the server has less free space than its reserve; reads continue. */
export class ServerReserve implements Disposable {
  readonly #deps: ServerReserveDeps;
  #seen: DiskReserve | undefined;
  /** The last value set in PostgreSQL. */
  #isTold: boolean | undefined;
  #timer: NodeJS.Timeout | undefined;
  #watching: Promise<void> | undefined;
  #telling: Promise<void> | undefined;
  #isEnded = false;

  constructor(deps: ServerReserveDeps) {
    this.#deps = deps;
  }

  /**
   * Checks now and repeatedly until disposed. Resolves after the first check, which later calls share, when PostgreSQL
   * was told.
   */
  watch(): Promise<void> {
    const { floor_bytes: floor } = this.#deps;
    this.#watching ??= floor === undefined ? Promise.resolve() : this.#watch(floor);
    return this.#watching;
  }

  async #watch(floor: number): Promise<void> {
    await this.#look(floor);
    const told = this.#tell();
    if (this.#isTold === undefined) await told;
    if (this.#isEnded) return;
    const again = this.#seen === undefined ? SOONEST_MS : nextReserveLook(this.#seen);
    this.#timer = setTimeout(() => void this.#watch(floor), again);
    this.#timer.unref();
  }

  /** Measures the disk. The last result stays valid if that fails. */
  async #look(floor: number): Promise<void> {
    const { folder, log, readReserve = readDiskReserve } = this.#deps;
    try {
      const seen = await readReserve(folder, floor);
      const was = this.#seen?.is_reached ?? false;
      this.#seen = seen;
      const fields = { free_bytes: seen.free_bytes, floor_bytes: floor, free_files: seen.free_files };
      if (seen.is_reached && !was) log.warn(fields, "the disk of the server is nearly full and writes are refused");
      if (!seen.is_reached && was) log.info(fields, "the disk of the server has space again");
    } catch (error) {
      log.warn({ err: error }, "the disk of the server was not measured");
    }
  }

  /** Tells PostgreSQL the last result. No look waits for it: on a full disk PostgreSQL may be away for long. */
  #tell(): Promise<void> {
    this.#telling ??= this.#tellNow().finally(() => {
      this.#telling = undefined;
    });
    return this.#telling;
  }

  async #tellNow(): Promise<void> {
    const { log, refuseWrites } = this.#deps;
    try {
      // it may change meanwhile
      while (this.#seen !== undefined && this.#isTold !== this.#seen.is_reached) {
        const isReached = this.#seen.is_reached;
        await refuseWrites(isReached);
        this.#isTold = isReached;
      }
    } catch (error) {
      // retried after the next check
      log.warn({ err: error }, "PostgreSQL could not be told whether the disk of the server is full");
    }
  }

  #isReached(): boolean {
    return this.#seen?.is_reached === true;
  }

  /** Checks that a write may start. Measures again before it refuses one. @throws disk_full */
  async admit(): Promise<void> {
    const { floor_bytes: floor } = this.#deps;
    await this.watch();
    if (floor !== undefined && this.#isReached()) {
      await this.#look(floor);
      if (!this.#isReached()) await this.#tell();
    }
    this.check();
  }

  /** Checks by the last result that a write may continue. @throws disk_full */
  check(): void {
    const seen = this.#seen;
    if (seen?.is_reached !== true) return;
    throw appError("disk_full", {
      detail: `The disk of the server has ${describeFreeSpace(seen)} left, and its reserve is ${describeFloor(seen)}. Rows can be read, but writes are refused.`,
      hint: "Ask the operator of the server to free space on its disk, then try again.",
      meta: { free_bytes: seen.free_bytes, floor_bytes: seen.floor_bytes },
    });
  }

  [Symbol.dispose](): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
  }
}

const ORDER: readonly FullDisk[] = ["server", "database"];

/**
 * PostgreSQL has one switch for two disks. Returns the function that says whether one of them is full; calls run one
 * after the other, so that none undoes a later one.
 */
export function shareRefusal(
  refuse: (full: FullDisk | undefined) => Promise<void>,
): (disk: FullDisk, isFull: boolean) => Promise<void> {
  const full = new Set<FullDisk>();
  let last = Promise.resolve();
  return (disk, isFull) => {
    if (isFull) full.add(disk);
    else full.delete(disk);
    // the server's first: no one of the organization can change it
    const told = last.then(() => refuse(ORDER.find((one) => full.has(one))));
    last = told.catch(() => undefined);
    return told;
  };
}
