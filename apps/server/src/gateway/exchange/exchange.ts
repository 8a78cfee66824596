import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Writable } from "node:stream";
import type { ManifestCors } from "@appdb/contract/manifest";
import type { RequestTrace } from "@appdb/engine/ports";
import type { RoutedDatabase } from "../routing/routing-table.ts";

/** HTTP/1.1 and HTTP/2 alike. */
export type GatewayRequest = IncomingMessage | Http2ServerRequest;
export type GatewayResponse = Writable & {
  readonly headersSent: boolean;
  writeHead(status: number, headers: OutgoingHttpHeaders | OutgoingHttpHeader[]): unknown;
  writeContinue(): void;
  getHeaderNames(): string[];
  removeHeader(name: string): void;
};

/** One request and its answer, and what became known of it on the way. */
export interface Exchange {
  readonly req: GatewayRequest;
  readonly res: GatewayResponse;
  readonly id: string;
  /** By the steady clock. */
  readonly started_at: number;
  /** How the client reaches us, as the connection or a proxy that is believed says. */
  readonly is_secure: boolean;
  /** The gateway itself serves the connection by TLS. */
  readonly has_tls: boolean;
  readonly host: string;
  readonly client_address: string;
  /** The client waits to be told to go on before it sends its body. */
  readonly awaits_continue: boolean;
  database: RoutedDatabase | undefined;
  /** Of the service that is asked for: what it says of pages of other origins. */
  cors?: ManifestCors | null | undefined;
  /** Within the database; empty while nobody knows. */
  service: string;
  /** Its id; empty likewise. */
  service_id: string;
  /** What the service is asked for, with the query. */
  path: string;
  /** Its name, never its text. */
  key: string;
  /** Whose request it is, once the key was found to be good. */
  caller: { readonly id: string; readonly name: string } | null;
  /** A short body that was read, to be sent on; undefined while it is with the request. */
  body: Buffer | undefined;
  /** Bytes of its body that count as held for its organization. */
  held_bytes: number;
  /** Of a request that goes on to a service, where somebody traces; ends when the answer has. */
  trace: RequestTrace | undefined;
  /** The service says that the application's code failed, with a status of 4xx. */
  has_failed: boolean;
  /** Of what the gateway itself answered in place of the service. */
  code?: string;
  /** What every answer says beside what the service says. */
  headers: OutgoingHttpHeaders;
}

/** Whether nobody waits for the answer any more. */
export function isGone({ req, res }: Pick<Exchange, "req" | "res">): boolean {
  return res.destroyed || ("stream" in req && req.stream.destroyed);
}

/** Which host the client asked for. */
export function hostOf({ headers }: GatewayRequest): string {
  return headers[":authority"]?.toString() ?? headers.host ?? "";
}
