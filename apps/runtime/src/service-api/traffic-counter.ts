import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "@appdb/engine/ports";

const LOOK_MS = 25;

export interface QuietInput {
  /** Required time without running requests. */
  readonly quiet_ms: number;
  /** Timeout. */
  readonly limit_ms: number;
  readonly signal: AbortSignal;
}

/** Counts running requests. */
export class TrafficCounter {
  readonly #clock: Clock;
  #inFlight = 0;
  #lastEndedAt: number;

  /** `clock` must be monotonic. */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastEndedAt = clock.now();
  }

  get in_flight(): number {
    return this.#inFlight;
  }

  /** Time since the last request ended or since the start; 0 while one is running. */
  get idle_ms(): number {
    return this.#inFlight > 0 ? 0 : Math.max(0, Math.round(this.#clock.now() - this.#lastEndedAt));
  }

  begin(): void {
    this.#inFlight += 1;
  }

  end(): void {
    this.#inFlight -= 1;
    this.#lastEndedAt = this.#clock.now();
  }

  /** Waits until no request was running for a while. False on timeout or when the signal aborts. */
  async settle({ quiet_ms: quietMs, limit_ms: limitMs, signal }: QuietInput): Promise<boolean> {
    const beganAt = this.#clock.now();
    while (!signal.aborted && this.#clock.now() - beganAt < limitMs) {
      const waited = this.#clock.now() - beganAt;
      if (Math.min(this.idle_ms, waited) >= quietMs) return true;
      await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
    return false;
  }
}
