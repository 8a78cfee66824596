import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "@appdb/engine/ports";

const LOOK_MS = 25;

export interface QuietInput {
  /** For so long nothing must have been under way. */
  readonly quiet_ms: number;
  /** No longer than this is waited. */
  readonly limit_ms: number;
  readonly signal: AbortSignal;
}

/** The requests that are under way. */
export class TrafficCounter {
  readonly #clock: Clock;
  #inFlight = 0;
  #lastEndedAt: number;

  /** `clock`: one that nobody sets. */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastEndedAt = clock.now();
  }

  get in_flight(): number {
    return this.#inFlight;
  }

  /** Since the last request ended, or since the start; 0 while one is under way. */
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

  /** Waits until nothing has been under way for a while. False when that did not come about in time, or the signal aborted. */
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
