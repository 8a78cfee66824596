import { appError } from "@appdb/contract/errors";
import { limitVariable } from "@appdb/contract/service-limits";

/** Maximum bytes of all bodies, as a multiple of the largest one. */
const BODIES = 2;
/** The first bytes of each body are not counted, so that small requests are always read. */
const FREE_BYTES = 65_536;
/** A body that takes longer to arrive loses its bytes when another one needs them. */
const SLOW_MS = 10_000;

/** A body that arrives, until it is disposed. */
export interface ArrivingBody extends Disposable {
  /** Counts bytes. @throws overloaded */
  add(bytes: number): void;
}

interface Counted {
  readonly began_at: number;
  readonly end: (error: Error) => void;
  bytes: number;
}

/** The bytes of bodies that one server reads into memory before their requests begin. */
export class ArrivingBodies {
  readonly #max: number;
  readonly #now: () => number;
  readonly #arriving = new Set<Counted>();
  #bytes = 0;

  constructor(bodyBytes: number, now: () => number = () => performance.now()) {
    this.#max = bodyBytes * BODIES;
    this.#now = now;
  }

  /** Counts a body. `end` is called with an error when it is slow and another one needs its bytes. */
  begin(end: (error: Error) => void): ArrivingBody {
    const body: Counted = { began_at: this.#now(), end, bytes: 0 };
    this.#arriving.add(body);
    return {
      add: (bytes) => {
        if (!this.#arriving.has(body)) return;
        const counted = Math.max(0, body.bytes + bytes - FREE_BYTES) - Math.max(0, body.bytes - FREE_BYTES);
        while (counted > 0 && this.#bytes + counted > this.#max) {
          if (!this.#endSlowest(body)) throw tooMany(this.#max);
        }
        this.#bytes += counted;
        body.bytes += bytes;
      },
      [Symbol.dispose]: () => this.#forget(body),
    };
  }

  /** Ends the body that has been arriving the longest, of those with counted bytes. False when none is slow. */
  #endSlowest(except: Counted): boolean {
    for (const one of this.#arriving) {
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

function tooMany(value: number): Error {
  return appError("overloaded", {
    detail: `Bodies of requests that are arriving would have more than ${value} bytes together.`,
    hint: `Send the request again in a moment, or raise ${limitVariable("body_bytes")}.`,
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
