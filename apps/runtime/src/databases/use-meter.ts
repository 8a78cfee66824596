import { randomUUID } from "node:crypto";
import type { PodHealth } from "@appdb/contract/pod-spec";
import type { Clock } from "@appdb/engine/ports";
import { familyCpuMs } from "@appdb/system/processes/process-table";

/** Health is asked for every second, and a look at all processes takes some milliseconds. */
const LOOK_MS = 5_000;

/** What this process, its PostgreSQL and its workers have used since the start. */
export class UseMeter {
  readonly #clock: Clock;
  readonly #run = randomUUID();
  readonly #begunMs: number;
  #read: PodHealth["metered"] = null;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#begunMs = clock.now();
  }

  /** As of a few seconds ago at the most; null where the system does not say. */
  read(): PodHealth["metered"] {
    const awakeMs = Math.round(this.#clock.now() - this.#begunMs);
    if (this.#read !== null && awakeMs - this.#read.awake_ms < LOOK_MS) return this.#read;
    const cpuMs = familyCpuMs(process.pid);
    this.#read = cpuMs === undefined ? null : { run: this.#run, cpu_ms: Math.round(cpuMs), awake_ms: awakeMs };
    return this.#read;
  }
}
