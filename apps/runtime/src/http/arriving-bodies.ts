import { appError } from "@appdb/contract/errors";
import { limitVariable } from "@appdb/contract/service-limits";

/** Maximum bytes of all bodies, as a multiple of the largest one. */
const BODIES = 2;
/** The first bytes of each body are not counted, so that small requests are always read. */
export const FREE_BYTES = 65_536;
/** A body that takes longer to arrive loses its bytes when another one needs them. */
export const SLOW_MS = 10_000;

/** A body that arrives, until it is disposed. */
export interface ArrivingBody extends Disposable {
  /** Counts bytes. @throws overloaded */
  add(bytes: number): void;
  /** Whether the request waits for its client from now on. A new one does. Another one is not ended as slow. */
  setWaiting(isWaiting: boolean): void;
}

/** Maximum bytes of bodies together. */
export interface BodiesLimit {
  readonly value: number;
  /** How to raise it. */
  readonly raise: string;
}

interface Counted {
  readonly began_at: number;
  readonly end: (error: Error) => void;
  bytes: number;
  is_waiting: boolean;
}

/** The bytes of bodies that one server has in memory, at least until their requests begin. */
export class ArrivingBodies {
  readonly #limit: BodiesLimit;
  readonly #now: () => number;
  readonly #arriving = new Set<Counted>();
  #bytes = 0;

  constructor(limit: number | BodiesLimit, now: () => number = () => performance.now()) {
    const raise = `raise ${limitVariable("body_bytes")}`;
    this.#limit = typeof limit === "number" ? { value: limit * BODIES, raise } : limit;
    this.#now = now;
  }

  /** Counts a body. `end` is called with an error when it is slow and another one needs its bytes. */
  begin(end: (error: Error) => void): ArrivingBody {
    const body: Counted = { began_at: this.#now(), end, bytes: 0, is_waiting: true };
    this.#arriving.add(body);
    return {
      add: (bytes) => {
        if (!this.#arriving.has(body)) return;
        const counted = Math.max(0, body.bytes + bytes - FREE_BYTES) - Math.max(0, body.bytes - FREE_BYTES);
        while (counted > 0 && this.#bytes + counted > this.#limit.value) {
          if (!this.#endSlowest(body)) throw tooMany(this.#limit);
        }
        this.#bytes += counted;
        body.bytes += bytes;
      },
      setWaiting: (isWaiting) => {
        body.is_waiting = isWaiting;
      },
      [Symbol.dispose]: () => this.#forget(body),
    };
  }

  /** Ends the body that has been arriving the longest, of those with counted bytes. False when none is slow. */
  #endSlowest(except: Counted): boolean {
    for (const one of this.#arriving) {
      if (!one.is_waiting) continue;
      const waitedMs = this.#now() - one.began_at;
      // the oldest is the first
      if (waitedMs < SLOW_MS) return false;
      if (one === except || one.bytes <= FREE_BYTES) continue;
      this.#forget(one);
      one.end(tooSlow(waitedMs));
      return true;
    }
    return false;
  }

  #forget(body: Counted): void {
    if (this.#arriving.delete(body)) this.#bytes -= Math.max(0, body.bytes - FREE_BYTES);
  }
}

function tooMany({ raise, value }: BodiesLimit): Error {
  return appError("overloaded", {
    detail: `Bodies of requests in memory would have more than ${value} bytes together.`,
    hint: `Send the request again in a moment, or ${raise}.`,
    meta: { limit: "body_bytes", value },
  });
}

function tooSlow(waitedMs: number): Error {
  const seconds = Math.floor(waitedMs / 1_000);
  return appError("overloaded", {
    detail: `The body of the request had not arrived after ${seconds} seconds, and another request needed its memory.`,
    hint: "Send the request again without pauses, or send less data at once.",
    meta: { waited_s: seconds },
  });
}
