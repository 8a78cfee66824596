import { appError } from "@appdb/contract/errors";
import { LargeBytes } from "./large-bytes.ts";

/** The first bytes of each body are not counted, so that small requests are always taken. */
export const FREE_BYTES = 65_536;
/** A request that waits longer for its client loses its bytes, or its place, when another one needs them. */
export const SLOW_MS = 10_000;

/** What the errors of a limit say. */
export interface BodyTexts {
  /** The bodies, as the subject of a sentence. */
  readonly bodies: string;
  /** What did not arrive in the seconds. */
  slow(seconds: number): string;
  /** How to raise the limit: `raise SERVICE_BODY_BYTES`. */
  readonly raise: string;
}

/** A body in memory, or what arrived of it, until it is disposed. */
export interface ArrivingBody extends Disposable {
  /** Counts bytes that arrived. `released` of the earlier ones are in memory no longer. @throws overloaded */
  add(bytes: number, released?: number): void;
  /** Whether the request waits for its client from now on. A new one does. */
  setWaiting(isWaiting: boolean): void;
}

interface Counted {
  /** Since when the request waits for its client. */
  waiting_since: number;
  readonly end: (error: Error) => void;
  bytes: number;
}

/** Bodies that are in memory together. One that needs bytes ends the one that has waited for its client the longest. */
export class ArrivingBodies {
  readonly #max: number;
  readonly #texts: BodyTexts;
  readonly #now: () => number;
  readonly #bytes: LargeBytes;
  readonly #arriving = new Set<Counted>();

  constructor(maxBytes: number, texts: BodyTexts, now: () => number = () => performance.now()) {
    this.#max = maxBytes;
    this.#texts = texts;
    this.#now = now;
    this.#bytes = new LargeBytes(maxBytes, FREE_BYTES);
  }

  /** Bodies that are counted as they arrive. */
  get size(): number {
    return this.#arriving.size;
  }

  /** Counts a body as it arrives. `end` is called with an error when it is slow and another request needs its bytes. */
  begin(end: (error: Error) => void): ArrivingBody {
    const body: Counted = { waiting_since: this.#now(), end, bytes: 0 };
    this.#arriving.add(body);
    return {
      add: (bytes, released = 0) => {
        if (!this.#arriving.has(body)) return;
        const after = body.bytes - released + bytes;
        this.#change(body.bytes, after, body);
        body.bytes = after;
      },
      setWaiting: (isWaiting) => {
        body.waiting_since = isWaiting ? this.#now() : Number.POSITIVE_INFINITY;
      },
      [Symbol.dispose]: () => this.#forget(body),
    };
  }

  /** Counts a whole body until it is disposed. @throws overloaded */
  hold(bytes: number): Disposable {
    this.#change(0, bytes);
    let held = bytes;
    return {
      [Symbol.dispose]: () => {
        this.#bytes.change(held, 0);
        held = 0;
      },
    };
  }

  /** Ends the request that has waited for its client the longest, of those that qualify. False when none is slow. */
  endSlowest(qualifies: (body: Readonly<Counted>) => boolean = () => true): boolean {
    let slowest: Counted | undefined;
    for (const one of this.#arriving) {
      if (one.waiting_since < (slowest?.waiting_since ?? Number.POSITIVE_INFINITY) && qualifies(one)) slowest = one;
    }
    const waitedMs = slowest === undefined ? 0 : this.#now() - slowest.waiting_since;
    if (slowest === undefined || waitedMs < SLOW_MS) return false;
    this.#forget(slowest);
    slowest.end(tooSlow(this.#texts, waitedMs));
    return true;
  }

  /** @throws overloaded */
  #change(before: number, after: number, body?: Counted): void {
    while (!this.#bytes.fits(before, after)) {
      if (!this.endSlowest((one) => one !== body && one.bytes > FREE_BYTES)) throw tooMany(this.#texts, this.#max);
    }
    this.#bytes.change(before, after);
  }

  #forget(body: Counted): void {
    if (this.#arriving.delete(body)) this.#bytes.change(body.bytes, 0);
  }
}

function tooMany({ bodies, raise }: BodyTexts, value: number): Error {
  return appError("overloaded", {
    detail: `${bodies} would have more than ${value} bytes together.`,
    hint: `Send the request again in a moment, or ${raise}.`,
    meta: { limit: "body_bytes", value },
  });
}

function tooSlow({ slow }: BodyTexts, waitedMs: number): Error {
  const seconds = Math.floor(waitedMs / 1_000);
  return appError("overloaded", {
    detail: slow(seconds),
    hint: "Send the request again without pauses, or send less data at once.",
    meta: { waited_s: seconds },
  });
}
