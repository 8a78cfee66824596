import { appError } from "@appdb/contract/errors";
import { type BodyLimit, limitVariable } from "@appdb/contract/service-limits";
import type { Spool } from "../ports.ts";
import { Admission } from "./admission.ts";
import { OPEN_REQUESTS, type OpenCompute, OpenComputes } from "./open-computes.ts";

/** Batches that are computed at once. Each uses the workers. */
const BATCHES_AT_ONCE = 2;
/** The bytes of all unread responses of one share, as a multiple of the bytes of one response. */
export const UNREAD_RESPONSES = 4;

export interface ComputeLimits extends BodyLimit {
  /** Maximum bytes of the response to one request with many rows. */
  readonly compute_bytes: number;
  /** Maximum bytes of made rows in memory, of all responses to single rows. */
  readonly made_bytes: number;
}

/** What the requests that compute rows without storing them share: of one database, or of one service process. */
export class ComputeShare {
  /** A slot is for one batch of a request. No request waits for two, so that the queue has room for each. */
  readonly admission = new Admission(
    { running: BATCHES_AT_ONCE, waiting: OPEN_REQUESTS },
    "requests that compute many rows",
  );
  readonly #limits: ComputeLimits;
  readonly #open: OpenComputes;
  #unread = 0;
  #made = 0;

  constructor(limits: ComputeLimits) {
    this.#limits = limits;
    this.#open = new OpenComputes(limits);
  }

  /** Counts a request with many rows until it is disposed. @throws overloaded */
  openRequest(): OpenCompute {
    return this.#open.open();
  }

  /** Counts a body that is in memory until it is disposed. @throws overloaded */
  holdBody(body: string | Uint8Array): Disposable {
    return this.#open.hold(typeof body === "string" ? Buffer.byteLength(body) : body.length);
  }

  /** The spool of one response, with a limit. Its bytes count until it is disposed. @throws result_too_large, overloaded */
  bounded(spool: Spool): Spool {
    let counted = 0;
    return {
      get bytes() {
        return spool.bytes;
      },
      write: async (piece) => {
        const bytes = typeof piece === "string" ? Buffer.byteLength(piece) : piece.length;
        const { compute_bytes: max } = this.#limits;
        if (counted + bytes > max) throw tooLarge(max);
        if (this.#unread + bytes > max * UNREAD_RESPONSES) throw tooManyUnread(max * UNREAD_RESPONSES);
        counted += bytes;
        this.#unread += bytes;
        await spool.write(piece);
      },
      read: () => spool.read(),
      [Symbol.asyncDispose]: async () => {
        this.#unread -= counted;
        counted = 0;
        await spool[Symbol.asyncDispose]();
      },
    };
  }

  /** Counts the made rows of one response while it is made. @throws overloaded by `add` */
  madeRows(): { add(texts: readonly string[]): void } & Disposable {
    let counted = 0;
    return {
      add: (texts) => {
        const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
        const { made_bytes: max } = this.#limits;
        if (this.#made + bytes > max) throw tooManyMade(max);
        counted += bytes;
        this.#made += bytes;
      },
      [Symbol.dispose]: () => {
        this.#made -= counted;
        counted = 0;
      },
    };
  }
}

function tooLarge(value: number): Error {
  return appError("result_too_large", {
    detail: `The response has more than ${value} bytes, the maximum of a request that computes rows.`,
    hint: `Send fewer rows per request, request fewer outputs, or raise ${limitVariable("compute_bytes")}.`,
    meta: { limit: "compute_bytes", value },
  });
}

function tooManyUnread(value: number): Error {
  return appError("overloaded", {
    detail: `Responses with computed rows that clients have not read yet would have more than ${value} bytes together.`,
    hint: `Read the other responses to their end and send the request again, or raise ${limitVariable("compute_bytes")}.`,
    meta: { limit: "compute_bytes", value },
  });
}

function tooManyMade(value: number): Error {
  return appError("overloaded", {
    detail: `Concurrent requests make rows of more than ${value} bytes together.`,
    hint: `Send the request again in a moment, or raise ${limitVariable("made_bytes")}.`,
    meta: { limit: "made_bytes", value },
  });
}
