/**
 * HTTP for compiled routes (engine/src/endpoints). A request's bytes go to the route's handler unchanged, and its
 * answer is sent unchanged. The rest of this file handles requests without a route.
 */
import { chmodSync } from "node:fs";
import { AppError } from "@appdb/contract/errors";
import { nearestName } from "@appdb/contract/nearest";
import { answerError } from "@appdb/engine/answers/answers";
import type { Endpoints } from "@appdb/engine/endpoints/open-endpoints";
import type { Logger } from "@appdb/engine/ports";
import type { ArrivingBodies } from "@appdb/engine/routes/arriving-bodies";
import { preflightHeaders } from "@appdb/http/cors";
import type { HttpListener } from "@appdb/pods/link/as-http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { addRoute } from "./add-route.ts";
import { Connections } from "./connections.ts";
import { createServer, listen } from "./create-server.ts";
import { fromHttpError, methodNotAllowed, notFound } from "./http-errors.ts";
import { addHealth, addMetrics, addOwnPages } from "./own-pages.ts";
import { PathMethods } from "./path-methods.ts";
import { sendReply } from "./send-reply.ts";
import type { MetricsPage } from "./service-metrics.ts";
import { findShadowed } from "./shadowed-paths.ts";

export interface CarryOptions {
  readonly log: Logger;
  /** Maximum size of a request body. */
  readonly body_bytes: number;
  /** Limits bodies together. Default: as on this machine. */
  readonly bodies?: ArrivingBodies;
  /** Prints the metrics of `/metrics`; without it that page does not exist. */
  readonly metrics?: () => Promise<MetricsPage>;
  /** Public path of this server's root, if it is mounted below one: `/ingest`. */
  readonly prefix?: string;
  /** Whether every request except `/health` must send an API key; defaults to false. */
  readonly needs_key?: boolean;
  /** Adds hooks before any route exists. */
  prepare?(server: FastifyInstance): void;
}

export interface ServeOptions extends CarryOptions {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
}

/** The parts of endpoints that HTTP serves. */
export type ServedRoutes = Omit<Endpoints, "inside" | "background" | "answerHandler" | "writer">;

export interface ServedEndpoints extends AsyncDisposable {
  readonly address: string;
  readonly port: number;
}

const SWEEP_MS = 20;
const REFUSALS: ReadonlySet<string> = new Set(["unauthorized", "forbidden", "keys_unavailable"]);

export interface ServedSocket extends AsyncDisposable {
  /** Answers a request that did not arrive on the socket. */
  readonly listen: HttpListener;
  /** Ends endless answers; everything else is still answered. */
  beginDrain(): void;
}

/**
 * Serves one service at the root, or several each under `/<service>`, with `/docs`, `/openapi.json` and `/health`, and
 * on this machine also `/metrics`. Disposing accepts no new connection and waits for running requests.
 * @throws port_taken
 */
export async function serveEndpoints(endpoints: ServedRoutes, options: ServeOptions): Promise<ServedEndpoints> {
  const { server, connections } = buildEndpointServer(endpoints, options);
  const { address, port } = await listen(server, options);
  return { address, port, [Symbol.asyncDispose]: () => drain(server, connections) };
}

/** The same on a unix socket for its owner only. Nothing may exist at its path. */
export async function serveOnSocket(
  endpoints: ServedRoutes,
  options: CarryOptions & { readonly socket: string },
): Promise<ServedSocket> {
  const { server, connections } = buildEndpointServer(endpoints, options);
  await server.listen({ path: options.socket });
  chmodSync(options.socket, 0o600);
  return {
    listen: (request, response) => void server.server.emit("request", request, response),
    beginDrain: () => connections.beginDrain(),
    [Symbol.asyncDispose]: () => drain(server, connections),
  };
}

/** A server for routes that is not listening yet. */
function buildEndpointServer(
  endpoints: ServedRoutes,
  options: CarryOptions,
): { readonly server: FastifyInstance; readonly connections: Connections } {
  const { log, needs_key: needsKey = false, prefix = "" } = options;
  const server = createServer(options);
  const connections = new Connections(server.server);
  const paths = new PathMethods();
  options.prepare?.(server);
  const places = endpoints.services.map((service) => ({
    service,
    mount: endpoints.services.length === 1 ? "" : `/${service}`,
  }));
  for (const { service, mount } of places) {
    const routes = endpoints.routes.filter((candidate) => candidate.service === service);
    for (const route of routes) {
      addRoute(server, { connections, log, mount, prefix }, route);
      paths.add(route.method, mount + route.path, route.cors ?? null);
    }
    addOwnPages(server, paths, endpoints, { service, mount, prefix, needs_key: needsKey });
    for (const { method, path } of findShadowed(routes)) {
      const refuse = (request: FastifyRequest, reply: FastifyReply) => answerUnmatched(request, reply, paths, log);
      if (server.hasRoute({ method, url: mount + path })) continue;
      // Refused before its body is read, because the method is the error.
      server.route({ method, url: mount + path, onRequest: refuse, handler: refuse });
    }
  }
  if (!places.some(({ mount }) => mount === "")) addHealth(server, paths, endpoints, "");
  // A route of the application on this path takes precedence.
  const isTaken = paths.methodsOf("/metrics").length > 0 || paths.methodsOf("/*").length > 0;
  if (!isTaken && options.metrics !== undefined) addMetrics(server, paths, options.metrics);
  server.setNotFoundHandler((request, reply) => answerUnmatched(request, reply, paths, log));
  server.setErrorHandler((error, request, reply) => {
    // A missing route is reported first, whatever error Fastify found before.
    if (request.is404 && !isRefusal(error)) answerUnmatched(request, reply, paths, log);
    else sendReply(request, reply, answerError(fromHttpError(error), request.id, log));
  });
  return { server, connections };
}

/** Unauthorized clients learn nothing, not even which paths exist. */
function isRefusal(error: unknown): boolean {
  return error instanceof AppError && REFUSALS.has(error.code);
}

/**
 * Node closes only connections that are idle now. Others, whose request ends later or that a browser opened in advance,
 * would delay the end.
 */
async function drain(server: FastifyInstance, connections: Connections): Promise<void> {
  const sweep = setInterval(() => {
    server.server.closeIdleConnections();
    connections.closeUnused();
  }, SWEEP_MS);
  connections.beginDrain();
  try {
    await server.close();
  } finally {
    clearInterval(sweep);
  }
}

/** Answers 404, 405, and CORS preflight requests. */
function answerUnmatched(request: FastifyRequest, reply: FastifyReply, paths: PathMethods, log: Logger): void {
  const path = request.url.split("?", 1)[0] ?? request.url;
  const allowed = paths.methodsOf(path);
  if (allowed.length === 0) {
    sendReply(request, reply, answerError(notFound(path, nearestName(path, paths.names())), request.id, log));
    return;
  }
  reply.header("allow", [...allowed, "OPTIONS"].join(", "));
  if (request.method === "OPTIONS") {
    const origin = request.headers.origin;
    const headers = origin === undefined ? {} : preflightHeaders(origin, allowed, paths.corsOf(path));
    sendReply(request, reply, { status: 204, headers, body: "" }, paths.corsOf(path));
    return;
  }
  const refusal = answerError(methodNotAllowed(request.method, path, allowed), request.id, log);
  sendReply(request, reply, refusal, paths.corsOf(path));
}
