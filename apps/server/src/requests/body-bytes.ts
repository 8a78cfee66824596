import { Transform } from "node:stream";
import { appError } from "@appdb/contract/errors";
import { BODY_BYTES } from "@appdb/contract/routes/control-paths";
import { LargeBytes } from "@appdb/engine/routes/large-bytes";
import type { Principal } from "../audit/principal.ts";

/** Maximum bytes of bodies in memory, of one caller and of one organization. Parsed and sent on, each takes about six
 *  times its size. */
export const MAX_BODY_BYTES = 40_000_000;
/** Maximum bytes of all large bodies that are being read. The first `BODY_BYTES` of each are not counted, so small
 *  bodies are read at any time. */
export const MAX_LARGE_BYTES = 160_000_000;

/** One body while it is in memory. */
export interface CountedBody extends Disposable {
  /** Counts bytes that arrived. @throws rate_limited */
  add(bytes: number): void;
  /** The body is complete: from now on it counts for its caller only. */
  parsed(): void;
}

/**
 * Limits the bodies that this process has in memory. Bytes count when they arrive: a header that announces many bytes costs
 * its sender nothing. They count for the organization and for all until the body is parsed, and for the caller, who may
 * send to several organizations, until the request is answered.
 */
export class BodyBytes {
  readonly #callers = new Map<string, number>();
  readonly #organizations = new Map<string, number>();
  readonly #large = new LargeBytes(MAX_LARGE_BYTES, BODY_BYTES);

  /** Counts a body until it is disposed. A single body always fits: no route accepts more bytes than one caller has. */
  begin(caller: string, organization: string | undefined): CountedBody {
    let received = 0;
    let isParsed = false;
    let isDisposed = false;
    const parsed = (): void => {
      if (isParsed) return;
      isParsed = true;
      if (organization !== undefined) change(this.#organizations, organization, -received);
      this.#large.change(received, 0);
    };
    return {
      add: (bytes) => {
        // the answer is closed, or the body was refused: nothing keeps the bytes
        if (isParsed) return;
        this.#check(caller, organization, bytes);
        if (!this.#large.fits(received, received + bytes)) throw tooMuch("server", MAX_LARGE_BYTES);
        this.#large.change(received, received + bytes);
        change(this.#callers, caller, bytes);
        if (organization !== undefined) change(this.#organizations, organization, bytes);
        received += bytes;
      },
      parsed,
      [Symbol.dispose]: () => {
        parsed();
        if (!isDisposed) change(this.#callers, caller, -received);
        isDisposed = true;
      },
    };
  }

  #check(caller: string, organization: string | undefined, bytes: number): void {
    if ((this.#callers.get(caller) ?? 0) + bytes > MAX_BODY_BYTES) throw tooMuch("caller", MAX_BODY_BYTES);
    const ofOrganization = organization === undefined ? 0 : (this.#organizations.get(organization) ?? 0);
    if (ofOrganization + bytes > MAX_BODY_BYTES) throw tooMuch("organization", MAX_BODY_BYTES);
  }
}

/** Whose bodies count together: a person's, with those of the keys that act as the person, or a key's of its own. */
export function ownerOfBodies(principal: Principal | undefined): string | undefined {
  return principal?.user_id ?? principal?.key?.id;
}

/** Counts a body on its way to its parser. The rest of a refused one is dropped: a client reads the answer after it. */
export function counted(source: NodeJS.ReadableStream, body: CountedBody): Transform {
  let refusal: Error | undefined;
  const through = new Transform({
    transform(piece: Buffer, _encoding, done) {
      if (refusal !== undefined) return done();
      try {
        body.add(piece.length);
      } catch (error) {
        refusal = error as Error;
        body[Symbol.dispose]();
        return done();
      }
      done(null, piece);
    },
    flush: (done) => done(refusal),
  });
  source.once("error", (error) => through.destroy(error));
  return source.pipe(through);
}

function change(sums: Map<string, number>, name: string, bytes: number): void {
  const sum = (sums.get(name) ?? 0) + bytes;
  if (sum === 0) sums.delete(name);
  else sums.set(name, sum);
}

function tooMuch(who: "caller" | "organization" | "server", most: number): Error {
  const detail = {
    caller: `The bodies of the caller's open requests would have more than ${most} bytes together.`,
    organization: `The bodies that arrive for the organization would have more than ${most} bytes together.`,
    server: `The large bodies that arrive at the server would have more than ${most} bytes together.`,
  }[who];
  return appError("rate_limited", {
    detail,
    hint: "Wait a second, then try again.",
    meta: { retry_after_s: 1, most_body_bytes: most },
  });
}
