/**
 * The link carries requests between a gateway and a pod as frames over one socket, instead of HTTP. A frame has its
 * length without these four bytes (u32, big-endian), its kind (u8), the request number (u32, 0 for none), and the
 * content that `frames.ts` defines for the kind. The caller first sends a hello with its protocol versions and the
 * pod's token. The pod answers with one version, and closes the connection when the hello is invalid. In both
 * directions, a body is whole in the frame of its head, or follows it in pieces.
 */

/** Versions that this end supports, the best one last. */
export const LINK_VERSIONS: readonly number[] = [3];
/** Maximum body in the frame of its head. */
export const LINK_BODY_BYTES = 1_048_576;
/** Maximum size of header names and values. */
export const LINK_HEAD_BYTES = 131_072;
/** Maximum bytes of a body in transit before its reader confirms consumption. */
export const LINK_WINDOW_BYTES = 262_144;
/** Maximum frame length. A longer frame is invalid. */
export const FRAME_BYTES = LINK_BODY_BYTES + LINK_HEAD_BYTES;

/** The key that made a request, as the gateway verified it. */
export interface LinkCaller {
  readonly id: string;
  readonly name: string;
  /** Whether its grants include the media store of the database. */
  readonly reads_media: boolean;
}

/** A request as a route takes it. */
export interface LinkRequest {
  readonly method: string;
  /** Path below the service: `/docs`. */
  readonly path: string;
  /** Query string after `?`, as received. */
  readonly search: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** A stream arrives as fast as it is read. An aborted one throws. */
  readonly body: Buffer | AsyncIterable<Uint8Array>;
  readonly id: string;
  /** Null for a request without a key. Only the gateway sets it: headers of the client cannot. */
  readonly caller: LinkCaller | null;
  /** The host that the client requested. */
  readonly host: string;
  readonly client_address: string;
  /** Whether the client reaches the gateway by TLS. */
  readonly is_secure: boolean;
}

/** Header names and values in alternation, as Node writes them. Names may repeat. */
export type LinkHeaders = readonly string[];

export interface LinkAnswer {
  readonly status: number;
  readonly headers: LinkHeaders;
  /** A stream is sent as fast as it is read. An error of the stream aborts the answer. */
  readonly body: Buffer | AsyncIterable<Uint8Array>;
}

/**
 * Outcome of a request without an answer. `not_sent` did not reach the pod and may be retried elsewhere; `unknown` may
 * have been executed.
 */
export class LinkBroken extends Error {
  readonly outcome: "not_sent" | "unknown";

  constructor(outcome: "not_sent" | "unknown", reason: string) {
    super(reason);
    this.outcome = outcome;
  }
}
