/**
 * HTTP for compiled routes (engine/src/endpoints): a request's bytes go to the route's handler as they came, its answer
 * goes out as it is. Everything else here is for requests that no route answers.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { appError } from "@appdb/contract/errors";
import { nearestName } from "@appdb/contract/nearest";
import { VERSION } from "@appdb/contract/version";
import { answerError, type RouteAnswer } from "@appdb/engine/endpoints/answers";
import type { Endpoints } from "@appdb/engine/endpoints/open-endpoints";
import type { CompiledRoute } from "@appdb/engine/endpoints/route";
import type { Logger } from "@appdb/engine/ports";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { Connections } from "./connections.ts";
import { addDocsPage } from "./docs-page.ts";
import { answerBadHttp, fromHttpError, methodNotAllowed, notFound, unsupportedMediaType } from "./http-errors.ts";
import { corsHeaders, preflightHeaders } from "./loopback-origins.ts";
import { readBody } from "./read-body.ts";
import { createRequestIds, REQUEST_ID_HEADER } from "./request-id.ts";
import type { MetricsPage } from "./service-metrics.ts";

export interface ServeOptions {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly log: Logger;
  /** Largest request body. */
  readonly body_bytes: number;
  /** Prints the numbers of `/metrics`; without it there is no such page. */
  readonly metrics?: () => Promise<MetricsPage>;
}

export interface ServedEndpoints extends AsyncDisposable {
  readonly address: string;
  readonly port: number;
}

const KEEP_ALIVE_MS = 72_000;
/** A client has this long to send its whole request. */
const REQUEST_TIMEOUT_MS = 120_000;
const SWEEP_MS = 20;

/**
 * Listens and answers: one service at the root, several each under `/<service>`; beside the routes `/docs`,
 * `/openapi.json` and `/health`, for this machine alone also `/metrics`. Disposing takes no new connection and waits for the requests that are running.
 * @throws port_taken
 */
export async function serveEndpoints(endpoints: Endpoints, options: ServeOptions): Promise<ServedEndpoints> {
  const server = createServer(options);
  const connections = new Connections(server.server);
  const paths = new PathMethods();
  const places = endpoints.services.map((service) => ({
    service,
    mount: endpoints.services.length === 1 ? "" : `/${service}`,
  }));
  for (const { service, mount } of places) {
    for (const route of endpoints.routes.filter((candidate) => candidate.service === service)) {
      addRoute(server, connections, mount, route);
      paths.add(route.method, mount + route.path);
    }
    addOwnPages(server, paths, endpoints, service, mount);
  }
  if (!places.some(({ mount }) => mount === "")) addHealth(server, paths, endpoints, "");
  // A route of the person's at this path wins.
  if (paths.methodsOf("/metrics").length === 0 && options.metrics !== undefined) addMetrics(server, options.metrics);
  server.setNotFoundHandler((request, reply) => answerElsewhere(request, reply, paths, options.log));
  server.setErrorHandler((error, request, reply) =>
    send(request, reply, answerError(fromHttpError(error), request.id, options.log)),
  );
  const { address, port } = await listen(server, options);
  return { address, port, [Symbol.asyncDispose]: () => drain(server, connections) };
}

/**
 * Node closes the connections that are idle at the moment; one whose last request is answered later, or that a browser
 * opened ahead and never used, would hold up the end.
 */
async function drain(server: FastifyInstance, connections: Connections): Promise<void> {
  const sweep = setInterval(() => {
    server.server.closeIdleConnections();
    connections.closeUnused();
  }, SWEEP_MS);
  try {
    await server.close();
  } finally {
    clearInterval(sweep);
  }
}

function createServer(options: ServeOptions): FastifyInstance {
  const server = fastify({
    logger: false,
    genReqId: createRequestIds(),
    requestIdHeader: false,
    // readBody refuses what is too large: Fastify would close the connection under a client that still writes.
    bodyLimit: Number.MAX_SAFE_INTEGER,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // While it drains, a connection that is there is still served, once, and told to close.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    clientErrorHandler: answerBadHttp,
    frameworkErrors: (error, request, reply) =>
      send(request, reply, answerError(fromHttpError(error), request.id, options.log)),
  });
  server.removeAllContentTypeParsers();
  // Bodies stay text: the route's own reader keeps digits that JSON.parse would lose.
  server.addContentTypeParser("application/json", (_request, payload, done) =>
    readBody(payload, options.body_bytes, done),
  );
  server.addContentTypeParser("*", (request, _payload, done) =>
    done(unsupportedMediaType(request.headers["content-type"])),
  );
  return server;
}

function addRoute(server: FastifyInstance, connections: Connections, mount: string, route: CompiledRoute): void {
  server.route({
    method: route.method,
    url: mount + route.path,
    handler: (request, reply) => {
      // The answer is complete when it comes: Fastify's own way of sending it would cost a third of the request.
      reply.hijack();
      const { body, id, raw } = request;
      const answer = route.handle({
        body: typeof body === "string" || body instanceof Uint8Array ? body : "",
        search: searchOf(request.url),
        headers: request.headers,
        id,
        signal: route.takes_signal ? connections.signalOf(raw.socket) : undefined,
      });
      // The handler never rejects.
      void answer.then((done) => sendWhole(raw, reply.raw, id, done));
    },
  });
}

function searchOf(url: string): string {
  const mark = url.indexOf("?");
  return mark < 0 ? "" : url.slice(mark + 1);
}

function sendWhole(request: IncomingMessage, response: ServerResponse, id: string, answer: RouteAnswer): void {
  const { body } = answer;
  const bytes = Buffer.byteLength(body);
  const headers = [REQUEST_ID_HEADER, id, "content-length", String(bytes)];
  for (const name in answer.headers) headers.push(name, answer.headers[name] ?? "");
  const origin = request.headers.origin;
  if (origin !== undefined) headers.push(...Object.entries(corsHeaders(origin)).flat());
  response.writeHead(answer.status, headers);
  // Node makes room for three bytes a character of UTF-8, outside of the heap; ASCII is the same in both.
  response.end(body, bytes === body.length ? "latin1" : "utf8");
}

function addOwnPages(
  server: FastifyInstance,
  paths: PathMethods,
  endpoints: Endpoints,
  service: string,
  mount: string,
): void {
  const description = JSON.stringify(describe(endpoints, service, mount));
  server.get(`${mount}/openapi.json`, (request, reply) => {
    send(request, reply, {
      status: 200,
      headers: { "content-type": "application/json; charset=utf-8" },
      body: description,
    });
  });
  paths.add("GET", `${mount}/openapi.json`);
  addHealth(server, paths, endpoints, mount);
  addDocsPage(server, mount, service);
  paths.add("GET", `${mount}/docs`);
}

function describe(endpoints: Endpoints, service: string, mount: string): object {
  const document = endpoints.openapi(service);
  return mount === "" ? document : { ...document, servers: [{ url: mount }] };
}

function addHealth(server: FastifyInstance, paths: PathMethods, endpoints: Endpoints, mount: string): void {
  server.get(`${mount}/health`, async (request, reply) => {
    await endpoints.checkHealth();
    const body = JSON.stringify({ status: "ok", version: VERSION, services: endpoints.services });
    send(request, reply, { status: 200, headers: { "content-type": "application/json; charset=utf-8" }, body });
    return reply;
  });
  paths.add("GET", `${mount}/health`);
}

/** For scrapers on this machine: what functions an application has is nobody else's business. */
function addMetrics(server: FastifyInstance, metrics: () => Promise<MetricsPage>): void {
  server.get("/metrics", async (request, reply) => {
    if (!isLoopback(request.raw.socket.remoteAddress)) {
      reply.callNotFound();
      return reply;
    }
    const { text, content_type } = await metrics();
    send(request, reply, { status: 200, headers: { "content-type": content_type }, body: text });
    return reply;
  });
}

function isLoopback(address: string | undefined): boolean {
  return address === "::1" || /^(::ffff:)?127\./.test(address ?? "");
}

/** 404, 405, and what a browser asks before it posts. */
function answerElsewhere(request: FastifyRequest, reply: FastifyReply, paths: PathMethods, log: Logger): void {
  const path = request.url.split("?", 1)[0] ?? request.url;
  const allowed = paths.methodsOf(path);
  if (allowed.length === 0) {
    send(request, reply, answerError(notFound(path, nearestName(path, paths.names())), request.id, log));
    return;
  }
  reply.header("allow", [...allowed, "OPTIONS"].join(", "));
  if (request.method === "OPTIONS") {
    const origin = request.headers.origin;
    const headers = origin === undefined ? {} : preflightHeaders(origin, allowed.join(", "));
    send(request, reply, { status: 204, headers, body: "" });
    return;
  }
  send(request, reply, answerError(methodNotAllowed(request.method, path, allowed), request.id, log));
}

function send(request: FastifyRequest, reply: FastifyReply, answer: RouteAnswer): void {
  reply.code(answer.status).header(REQUEST_ID_HEADER, request.id);
  for (const name in answer.headers) reply.header(name, answer.headers[name]);
  const origin = request.headers.origin;
  if (origin !== undefined) reply.headers(corsHeaders(origin));
  reply.send(answer.body);
}

/** Which methods a path answers. */
class PathMethods {
  readonly #methods = new Map<string, string[]>();

  add(method: string, path: string): void {
    const known = this.#methods.get(path) ?? [];
    // Fastify answers HEAD wherever it answers GET.
    const added = method === "GET" ? ["GET", "HEAD"] : [method];
    this.#methods.set(path, [...new Set([...known, ...added])]);
  }

  methodsOf(path: string): readonly string[] {
    return this.#methods.get(path) ?? [];
  }

  names(): Iterable<string> {
    return this.#methods.keys();
  }
}

async function listen(server: FastifyInstance, options: ServeOptions): Promise<AddressInfo> {
  try {
    await server.listen({ host: options.host, port: options.port });
  } catch (error) {
    await server.close();
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "EADDRINUSE" && code !== "EACCES") throw error;
    throw appError("port_taken", {
      detail:
        code === "EACCES"
          ? `Port ${options.port} on ${options.host} may not be used by this user.`
          : `Port ${options.port} on ${options.host} is in use by another program.`,
      hint: "Choose another port: --port <number>",
      meta: { host: options.host, port: options.port },
      cause: error,
    });
  }
  const address = server.server.address();
  if (address === null || typeof address === "string") throw new Error("The server listens on no TCP port.");
  return address;
}
