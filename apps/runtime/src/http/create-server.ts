import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type AppError, appError } from "@appdb/contract/errors";
import { answerError } from "@appdb/engine/answers/answers";
import { FREE_BYTES } from "@appdb/engine/routes/arriving-bodies";
import { withoutDashboardCookies } from "@appdb/http/dashboard-cookies";
import { createRequestIds } from "@appdb/http/request-ids";
import { type FastifyInstance, type FastifyRequest, fastify } from "fastify";
import { isStreamed } from "./add-route.ts";
import { answerBadHttp, fromHttpError, unsupportedMediaType } from "./http-errors.ts";
import { NO_SCHEMAS } from "./no-schemas.ts";
import { refuseEncoding } from "./packed-body.ts";
import { readBody } from "./read-body.ts";
import { sendReply } from "./send-reply.ts";
import type { CarryOptions, ServeOptions } from "./serve-endpoints.ts";
import { limitWholeBodies } from "./whole-bodies.ts";

const KEEP_ALIVE_MS = 72_000;
const SLASH = 0x2f;

/** Creates the HTTP server with body parsing and answers to invalid HTTP. */
export function createServer(options: CarryOptions): FastifyInstance {
  const nameRequest = createRequestIds();
  const server = fastify({
    logger: false,
    schemaController: NO_SCHEMAS,
    genReqId: ({ headers }) => nameRequest(headers),
    requestIdHeader: false,
    // readBody refuses large bodies. Fastify would close the connection while the client is still writing.
    bodyLimit: Number.MAX_SAFE_INTEGER,
    // Keys may be long; this is Node's limit for addresses.
    routerOptions: { maxParamLength: 16_384 },
    keepAliveTimeout: KEEP_ALIVE_MS,
    // The body's consumer decides its timeout: a stream may take hours.
    requestTimeout: 0,
    // While draining, an open connection serves one more request and is then closed.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    clientErrorHandler: (error, socket) => answerBadHttp(error, socket, options.log),
    frameworkErrors: (error, request, reply) =>
      sendReply(request, reply, answerError(fromHttpError(error, request.url), request.id, options.log)),
  });
  server.server.prependListener("request", (request: IncomingMessage) => {
    const { url = "/" } = request;
    if (url.charCodeAt(0) !== SLASH) request.url = originForm(url);
    dropDashboardCookies(request);
  });
  server.removeAllContentTypeParsers();
  server.decorateRequest("whole_body", undefined);
  const { bodies = limitWholeBodies(options.body_bytes) } = options;
  const read = (request: FastifyRequest, payload: IncomingMessage, done: BodyDone): void => {
    const take = (error: Error | null, body?: string | Buffer, counted?: Disposable): void => {
      // only a route disposes it
      if (request.is404) counted?.[Symbol.dispose]();
      else request.whole_body = counted;
      done(error, body);
    };
    readBody(payload, options.body_bytes, take, isShort(request.headers) ? undefined : bodies);
  };
  // Bodies stay text, because the route's reader keeps digits that JSON.parse would lose.
  server.addContentTypeParser("application/json", (request, payload, done) => {
    const refusal = refuseEncoding(request.headers);
    if (refusal !== undefined) done(refusal);
    else if (isStreamed(request)) done(null);
    else read(request, payload, done);
  });
  server.addContentTypeParser("*", (request, payload, done) => {
    // A streamed body stays unread here.
    if (isStreamed(request)) done(refuseEncoding(request.headers) ?? null);
    else if (request.routeOptions.config.takes_any_body) read(request, payload, done);
    else done(unsupportedMediaType(request.headers["content-type"]));
  });
  return server;
}

type BodyDone = (error: Error | null, body?: string | Buffer) => void;

/** Whether all bytes of a body are free. Nearly all bodies are so short. */
function isShort({ "content-length": length, "content-encoding": encoding }: FastifyRequest["headers"]): boolean {
  return encoding === undefined && Number(length ?? Number.NaN) <= FREE_BYTES;
}

/** A proxy other than the gateway may be in front. Handlers must never see a dashboard session. */
function dropDashboardCookies({ headers }: IncomingMessage): void {
  if (headers.cookie === undefined) return;
  const remaining = withoutDashboardCookies(headers.cookie);
  if (remaining === undefined) delete headers.cookie;
  else headers.cookie = remaining;
}

/** Path and query of an absolute request target `http://host/path`, which servers must accept too (RFC 9112, 3.2.2). */
function originForm(url: string): string {
  const whole = /^https?:\/\/[^/?#]*/i.exec(url);
  if (whole === null) return url;
  const rest = url.slice(whole[0].length);
  return rest.startsWith("/") ? rest : `/${rest}`;
}

function noAddress(host: string, cause: unknown): AppError {
  return appError("usage", {
    detail: `${host} is not an address of this machine, so nothing can listen on it.`,
    hint: "Use --host 127.0.0.1 for this machine only, or --host 0.0.0.0 for the whole network.",
    meta: { host },
    cause,
  });
}

/** @throws port_taken; usage for a host that is not an address of this machine */
export async function listen(
  server: FastifyInstance,
  options: Pick<ServeOptions, "host" | "port">,
): Promise<AddressInfo> {
  try {
    await server.listen({ host: options.host, port: options.port });
  } catch (error) {
    await server.close();
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOTFOUND" || code === "EADDRNOTAVAIL" || code === "EAI_AGAIN") throw noAddress(options.host, error);
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
