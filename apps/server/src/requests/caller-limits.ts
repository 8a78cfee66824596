import { appError } from "@appdb/contract/errors";
import type { ApiBounds } from "../config/config-quotas.ts";

/** The burst size, in seconds of the rate. */
const BURST_S = 4;
/** An organization's limits, as a multiple of a caller's. */
const CALLERS = 4;
const FORGET_AT = 10_000;

interface Counted {
  tokens: number;
  at: number;
  open: number;
}

type Who = "principal" | "organization";

/** Limits the requests of signed-in callers to this process, by caller and by organization. */
export class CallerLimits {
  readonly #bounds: ApiBounds;
  readonly #now: () => number;
  readonly #counted = new Map<string, Counted>();

  constructor(bounds: ApiBounds, now: () => number = () => performance.now()) {
    this.#bounds = bounds;
    this.#now = now;
  }

  /** Counts a request until the returned function is called. @throws rate_limited with the seconds to wait */
  enter(who: Who, id: string): () => void {
    const factor = who === "principal" ? 1 : CALLERS;
    const rate = this.#bounds.rate * factor;
    const mostOpen = this.#bounds.max_open * factor;
    const counted = this.#find(`${who} ${id}`, rate);
    if (rate > 0 && counted.tokens < 1) {
      const waitS = Math.max(1, Math.ceil((1 - counted.tokens) / rate));
      throw tooMany(`The ${who} sent more than ${rate} requests a second`, waitS, { rate });
    }
    if (counted.open >= mostOpen) {
      throw tooMany(`The ${who} has ${counted.open} requests open, and the maximum is ${mostOpen}`, 1, {
        most_open: mostOpen,
      });
    }
    counted.tokens -= 1;
    counted.open += 1;
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      counted.open -= 1;
    };
  }

  #find(name: string, rate: number): Counted {
    const at = this.#now();
    const found = this.#counted.get(name);
    if (found !== undefined) {
      found.tokens = Math.min(rate * BURST_S, found.tokens + ((at - found.at) * rate) / 1_000);
      found.at = at;
      return found;
    }
    if (this.#counted.size >= FORGET_AT) this.#forget(at);
    const bucket = { tokens: rate * BURST_S, at, open: 0 };
    this.#counted.set(name, bucket);
    return bucket;
  }

  /** An idle caller without requests since a full burst equals an unknown one. */
  #forget(at: number): void {
    for (const [name, { at: last, open }] of this.#counted) {
      if (open === 0 && at - last >= BURST_S * 1_000) this.#counted.delete(name);
    }
  }
}

function tooMany(what: string, retryAfterS: number, max: Readonly<Record<string, number>>): Error {
  return appError("rate_limited", {
    detail: `${what}.`,
    hint: `Wait ${retryAfterS === 1 ? "a second" : `${retryAfterS} seconds`}, then try again.`,
    meta: { retry_after_s: retryAfterS, ...max },
  });
}
