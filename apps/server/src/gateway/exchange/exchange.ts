import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Writable } from "node:stream";
import type { ManifestCors } from "@appdb/contract/manifest";
import type { RequestTrace } from "@appdb/engine/request-tracer";
import type { LinkCaller } from "@appdb/pods/link/link";
import type { RoutedDatabase } from "../routing/routing-table.ts";

/** A request of HTTP/1.1 or HTTP/2. */
export type GatewayRequest = IncomingMessage | Http2ServerRequest;
export type GatewayResponse = Writable & {
  readonly headersSent: boolean;
  writeHead(status: number, headers: OutgoingHttpHeaders | OutgoingHttpHeader[]): unknown;
  writeContinue(): void;
  getHeaderNames(): string[];
  removeHeader(name: string): void;
};

/** One request, its answer, and what is learned about it on the way. */
export interface Exchange {
  readonly req: GatewayRequest;
  readonly res: GatewayResponse;
  readonly id: string;
  /** By the monotonic clock. */
  readonly started_at: number;
  /** Whether the client uses https, by the connection or a trusted proxy. */
  readonly is_secure: boolean;
  /** Whether the gateway itself terminates TLS. */
  readonly has_tls: boolean;
  readonly host: string;
  readonly client_address: string;
  /** The client sent `Expect: 100-continue` and waits. */
  readonly awaits_continue: boolean;
  database: RoutedDatabase | undefined;
  /** The CORS settings of the requested service. */
  cors?: ManifestCors | null | undefined;
  /** The name within the database. Empty until known. */
  service: string;
  /** The service's id. Empty until known. */
  service_id: string;
  /** The path within the service, with the query. */
  path: string;
  /** The key's name, never its text. */
  key: string;
  /** The caller's key, once it is verified. */
  caller: LinkCaller | null;
  /** Its service has accepted a signed address: the organization pays for the answer, as with a key. */
  is_admitted?: boolean;
  /** A short body that was read. Undefined while it is still in the request. */
  body: Buffer | undefined;
  /** Bytes of the body that count for its organization. */
  held_bytes: number;
  /** Set for a traced request that is sent on to a service. Ends with the answer. */
  trace: RequestTrace | undefined;
  /** The service reported that the application's code failed, despite a 4xx status. */
  has_failed: boolean;
  /** The error code if the gateway answered itself. */
  code?: string;
  /** Headers that every answer gets in addition to the service's. */
  headers: OutgoingHttpHeaders;
}

/** Whether the client has disconnected. */
export function isDisconnected({ req, res }: Pick<Exchange, "req" | "res">): boolean {
  return res.destroyed || ("stream" in req && req.stream.destroyed);
}

/** The requested host. */
export function hostOf({ headers }: GatewayRequest): string {
  return headers[":authority"]?.toString() ?? headers.host ?? "";
}
