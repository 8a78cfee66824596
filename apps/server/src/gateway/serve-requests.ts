import type { EventEmitter } from "node:events";
import { createServer, type Server } from "node:http";
import type { Logger } from "@appdb/engine/ports";
import { createRequestIds } from "@appdb/http/request-ids";
import type { GatewayConfig } from "../config/config-gateway.ts";
import type { ConnectionBounds } from "./admission/connection-bounds.ts";
import type { ReadForwarded } from "./admission/trusted-proxies.ts";
import { answerMalformedHttp } from "./bad-http.ts";
import { type Exchange, type GatewayRequest, type GatewayResponse, hostOf } from "./exchange/exchange.ts";
import type { GatewayMetrics } from "./exchange/gateway-metrics.ts";
import type { GatewayTraffic } from "./exchange/gateway-traffic.ts";
import type { RoutedDatabase } from "./routing/routing-table.ts";

/** Maximum time for a request's headers. Bodies are watched where they are read. */
const HEADERS_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_MS = 72_000;
const LOOK_MS = 5_000;
const HEADERS = 200;
const HEADER_BYTES = 16_384;

/** Options of all HTTP/1.1 servers of the gateway. */
export const HTTP_OPTIONS = {
  insecureHTTPParser: false,
  requireHostHeader: true,
  maxHeaderSize: HEADER_BYTES,
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: 0,
  keepAliveTimeout: KEEP_ALIVE_MS,
  connectionsCheckingInterval: LOOK_MS,
  maxHeadersCount: HEADERS,
} as const;

/** Browsers use only https for a year. */
export const HSTS = { "strict-transport-security": "max-age=31536000" } as const;

export type Accept = (req: GatewayRequest, res: GatewayResponse, awaitsContinue: boolean) => void;

export interface AcceptDeps {
  readonly log: Logger;
  readonly metrics: GatewayMetrics;
  readonly traffic: Pick<GatewayTraffic, "count">;
  readonly is_secure: boolean;
  readonly access_log: GatewayConfig["access_log"];
  /** The database of a host, or undefined. */
  findDatabase(host: string): RoutedDatabase | undefined;
  readonly readForwarded: ReadForwarded;
  /** Returns the status that the client got. */
  handle(exchange: Exchange): Promise<number>;
  /** Counts the unsent part of the answer. */
  follow(exchange: Exchange): void;
}

/** Creates the handler that a server calls for each request: it routes, handles, counts and logs. */
export function createAccept(deps: AcceptDeps): Accept {
  const nameRequest = createRequestIds();
  const { log, metrics, traffic } = deps;
  const min = { all: 100, errors: 500, off: undefined }[deps.access_log];
  return (req, res, awaitsContinue) => {
    const id = nameRequest(req.headers);
    const requestHost = hostOf(req);
    const forwarded = deps.readForwarded(req, deps.is_secure, requestHost);
    const host = forwarded?.host ?? requestHost;
    const exchange: Exchange = {
      req,
      res,
      id,
      awaits_continue: awaitsContinue,
      host,
      has_tls: deps.is_secure,
      is_secure: forwarded?.is_secure ?? deps.is_secure,
      client_address: forwarded?.address ?? req.socket.remoteAddress ?? "",
      started_at: performance.now(),
      database: deps.findDatabase(host),
      service: "",
      service_id: "",
      path: "",
      key: "",
      caller: null,
      body: undefined,
      held_bytes: 0,
      trace: undefined,
      has_failed: false,
      headers: deps.is_secure ? { "x-request-id": id, ...HSTS } : { "x-request-id": id },
    };
    void deps.handle(exchange).then((status) => {
      deps.follow(exchange);
      const ms = performance.now() - exchange.started_at;
      metrics.count(status, ms, exchange.has_failed);
      exchange.trace?.end(status);
      const { service_id: serviceId, path } = exchange;
      const query = path.indexOf("?");
      const route = query < 0 ? path : path.slice(0, query);
      if (serviceId !== "") {
        const counted = { route: `${req.method ?? ""} ${route}`, status, ms, has_failed: exchange.has_failed };
        traffic.count(serviceId, counted);
      }
      if (min === undefined || status < min) return;
      log.info(
        {
          req: id,
          method: req.method,
          status,
          ms: Math.round(ms * 1_000) / 1_000,
          db: exchange.database?.id,
          service: exchange.service,
          route,
          key: exchange.key,
          client: exchange.client_address,
          ...(exchange.code === undefined ? {} : { code: exchange.code }),
        },
        "request to a service",
      );
    });
  };
}

/** Creates a plain HTTP/1.1 server that does not listen yet. */
export function createPlainServer(
  accept: Accept,
  metrics: GatewayMetrics,
  headersMs: number,
  bounds?: ConnectionBounds,
): Server {
  const connectionsCheckingInterval = Math.min(headersMs, HTTP_OPTIONS.connectionsCheckingInterval);
  const server = createServer({ ...HTTP_OPTIONS, headersTimeout: headersMs, connectionsCheckingInterval });
  server.maxHeadersCount = HTTP_OPTIONS.maxHeadersCount;
  bounds?.watch(server);
  attachHttp1(server, accept, metrics);
  return server;
}

/** Makes a server answer all forms of requests with `accept`. */
export function attachHttp1(server: EventEmitter, accept: Accept, metrics: GatewayMetrics): void {
  server.on("request", (req: GatewayRequest, res: GatewayResponse) => accept(req, res, false));
  server.on("checkContinue", (req: GatewayRequest, res: GatewayResponse) => accept(req, res, true));
  answerMalformedHttp(server, (status) => metrics.count(status, 0));
}
