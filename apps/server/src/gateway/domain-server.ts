import { once } from "node:events";
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { appError } from "@appdb/contract/errors";
import type { Logger } from "@appdb/engine/ports";
import type { GatewayConfig } from "../config/config-gateway.ts";
import type { HealthProblem } from "../health/problems.ts";
import { type Certificate, readCertificate, watchCertificate } from "./acme/certificate.ts";
import type { HostCertificates } from "./acme/host-certificates.ts";
import type { ConnectionBounds } from "./admission/connection-bounds.ts";
import type { GatewayMetrics } from "./exchange/gateway-metrics.ts";
import { type Accept, attachHttp1, HTTP_OPTIONS } from "./serve-requests.ts";
/** Maximum concurrent requests of one HTTP/2 connection. */
export const STREAMS = 100;
const IDLE_MS = 72_000;
const HEADER_PAIRS = 200;
const HANDSHAKE_MS = 10_000;

export interface DomainServerDeps {
  readonly log: Logger;
  readonly metrics: GatewayMetrics;
  readonly config: Pick<GatewayConfig, "domain" | "host" | "port" | "tls">;
  readonly accept: Accept;
  readonly bounds: ConnectionBounds;
  /** Certificates of single hosts, unless one is read from files. */
  readonly hosts?: Pick<HostCertificates, "SNICallback" | "ALPNCallback"> | undefined;
}

const ENDED: HealthProblem = { code: "certificate_ended", what: "The certificate of the gateway has expired." };

export interface DomainServer {
  readonly port: number;
  /** Problems with the certificate from a file, for the operator. */
  problems(): HealthProblem[];
  /** Refuses new requests. Resolves when the running ones have ended, or after `maxMs`. */
  stop(maxMs: number): Promise<void>;
}

/**
 * Listens for https (HTTP/1.1 and HTTP/2) for all hosts below the domain. Does not answer plain http, which would
 * expose the key.
 * @throws config_invalid, port_taken
 */
export async function openDomainServer(deps: DomainServerDeps): Promise<DomainServer> {
  const { accept, config, hosts, metrics, log } = deps;
  const { tls: files, domain } = config;
  if (domain === undefined || (files === undefined) === (hosts === undefined)) {
    throw new Error("A domain needs one certificate for all hosts, or one for each host.");
  }
  const certificate = files && readCertificate(files);
  const server = createSecureServer({
    ...(hosts === undefined ? certificate : { SNICallback: hosts.SNICallback, ALPNCallback: hosts.ALPNCallback }),
    allowHTTP1: true,
    minVersion: "TLSv1.2",
    handshakeTimeout: HANDSHAKE_MS,
    maxHeaderListPairs: HEADER_PAIRS,
    settings: { maxConcurrentStreams: STREAMS, maxHeaderListSize: HTTP_OPTIONS.maxHeaderSize, enablePush: false },
  });
  // the HTTP/1.1 side reads them from here, not from the options
  Object.assign(server, HTTP_OPTIONS);
  attachHttp1(server, accept, metrics);
  deps.bounds.watch(server);
  const open = trackConnections(server);
  await listen(server, config);
  const take = (next: Certificate) => server.setSecureContext(next);
  const watch =
    files === undefined || certificate === undefined
      ? undefined
      : watchCertificate({ log, files, domain, take }, certificate);
  // an authority after its check, or an unknown client: there is nothing to answer
  server.on("unknownProtocol", (socket) => socket.destroy());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The gateway has no TCP port.");
  return {
    port: address.port,
    problems: () => (watch?.hasEnded() === true ? [ENDED] : []),
    async stop(maxMs) {
      watch?.[Symbol.dispose]();
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      for (const session of open.sessions) session.close();
      // method of the HTTP/1.1 side, missing in the types
      if ("closeIdleConnections" in server && typeof server.closeIdleConnections === "function") {
        server.closeIdleConnections();
      }
      const timer = setTimeout(() => {
        for (const socket of open.sockets) socket.destroy();
      }, maxMs);
      await closed;
      clearTimeout(timer);
    },
  };
}

function trackConnections(server: Http2SecureServer) {
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    session.setTimeout(IDLE_MS, () => session.close());
    // the connection or the protocol broke: the session has already ended
    session.on("error", () => session.destroy());
  });
  return { sockets, sessions };
}

async function listen(server: Http2SecureServer, { host, port }: Pick<GatewayConfig, "host" | "port">): Promise<void> {
  try {
    server.listen({ host, port });
    await once(server, "listening");
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (code !== "EADDRINUSE" && code !== "EACCES") throw cause;
    throw appError("port_taken", {
      detail:
        code === "EACCES"
          ? `This user may not use port ${port} on ${host}.`
          : `Port ${port} on ${host} is in use by another program.`,
      hint: "Set SERVICE_GATEWAY_PORT to another one.",
      meta: { host, port },
      cause,
    });
  }
}
