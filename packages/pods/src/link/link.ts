/**
 * The link: requests to compiled routes between a gateway and a pod, as frames over one socket instead of HTTP. A frame is its length
 * without these four bytes (u32, big-endian), its kind (u8), the number of its request (u32, 0 for none), and what `frames.ts` says of
 * that kind. The caller says hello first, with the versions that it speaks and the token of the pod; the pod answers with one version
 * and what it has to say about itself, and hangs up on whoever is wrong.
 */

/** Versions that this end speaks, the best last. */
export const LINK_VERSIONS: readonly number[] = [1];
/** The longest body of a request that goes by a link; others go by HTTP. */
export const LINK_BODY_BYTES = 1_048_576;
/** Names and values of headers. */
export const LINK_HEAD_BYTES = 131_072;
/** How much of an answer may be on its way before its reader says that it took it. */
export const LINK_WINDOW_BYTES = 262_144;
/** No frame is longer: what is, comes from no end of a link. */
export const FRAME_BYTES = LINK_BODY_BYTES + LINK_HEAD_BYTES;

/** As a route takes it. */
export interface LinkRequest {
  readonly method: string;
  /** What the service itself calls it: `/docs`. */
  readonly path: string;
  /** Behind `?`, as it came. */
  readonly search: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  readonly id: string;
  /** Whose request it is: the id and the name of a key. */
  readonly caller: { readonly id: string; readonly name: string } | null;
}

/** Names and values of headers one after the other, as Node writes them; a name may come several times. */
export type LinkHeaders = readonly string[];

export interface LinkAnswer {
  readonly status: number;
  readonly headers: LinkHeaders;
  /** A stream goes out as fast as it is read; one that throws breaks the answer off. */
  readonly body: Buffer | AsyncIterable<Uint8Array>;
}

/** What became of a request that has no answer: `not_sent` reached nobody and may go elsewhere, `unknown` may have been carried out. */
export class LinkBroken extends Error {
  readonly outcome: "not_sent" | "unknown";

  constructor(outcome: "not_sent" | "unknown", why: string) {
    super(why);
    this.outcome = outcome;
  }
}
