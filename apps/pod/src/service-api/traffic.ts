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
export class Traffic {
  readonly #clock: Clock;
  #in_flight = 0;
  #last_ended_at: number;

  /** `clock`: one that nobody sets. */
  constructor(clock: Clock) {
    this.#clock = clock;
    this.#last_ended_at = clock.now();
  }

  get in_flight(): number {
    return this.#in_flight;
  }

  /** Since the last request ended, or since the start; 0 while one is under way. */
  get idle_ms(): number {
    return this.#in_flight > 0 ? 0 : Math.max(0, Math.round(this.#clock.now() - this.#last_ended_at));
  }

  begin(): void {
    this.#in_flight += 1;
  }

  end(): void {
    this.#in_flight -= 1;
    this.#last_ended_at = this.#clock.now();
  }

  /** Waits until nothing has been under way for a while. False when that did not come about in time, or the signal aborted. */
  async settle({ quiet_ms, limit_ms, signal }: QuietInput): Promise<boolean> {
    const began_at = this.#clock.now();
    while (!signal.aborted && this.#clock.now() - began_at < limit_ms) {
      const waited = this.#clock.now() - began_at;
      if (Math.min(this.idle_ms, waited) >= quiet_ms) return true;
      await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
    return false;
  }
}
