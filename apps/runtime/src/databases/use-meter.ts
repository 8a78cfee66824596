import { randomUUID } from "node:crypto";
import type { PodHealth } from "@appdb/contract/pod-spec";
import type { Clock } from "@appdb/engine/ports";
import { familyCpuMs } from "@appdb/system/processes/process-table";

/** Health is requested every second, and reading all processes takes some milliseconds. */
const LOOK_MS = 5_000;

/** Resource use of this process, its PostgreSQL and its workers since the start. */
export class UseMeter {
  readonly #clock: Clock;
  readonly #run = randomUUID();
  readonly #begunMs: number;
  #read: PodHealth["metered"] = null;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#begunMs = clock.now();
  }

  /** At most a few seconds old; null where the system does not report it. */
  read(): PodHealth["metered"] {
    const awakeMs = Math.round(this.#clock.now() - this.#begunMs);
    if (this.#read !== null && awakeMs - this.#read.awake_ms < LOOK_MS) return this.#read;
    const cpuMs = familyCpuMs(process.pid);
    this.#read = cpuMs === undefined ? null : { run: this.#run, cpu_ms: Math.round(cpuMs), awake_ms: awakeMs };
    return this.#read;
  }
}
