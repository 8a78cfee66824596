import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type AppError, appError } from "@appdb/contract/errors";
import { answerError } from "@appdb/engine/answers/answers";
import { withoutDashboardCookies } from "@appdb/http/dashboard-cookies";
import { createRequestIds } from "@appdb/http/request-ids";
import { type FastifyInstance, fastify } from "fastify";
import { isStreamed } from "./add-route.ts";
import { answerBadHttp, fromHttpError, unsupportedMediaType } from "./http-errors.ts";
import { NO_SCHEMAS } from "./no-schemas.ts";
import { refuseEncoding } from "./packed-body.ts";
import { readBody } from "./read-body.ts";
import { sendReply } from "./send-reply.ts";
import type { CarryOptions, ServeOptions } from "./serve-endpoints.ts";

const KEEP_ALIVE_MS = 72_000;
const SLASH = 0x2f;

/** Makes the server: how bodies are read, and what is answered to what is no request. */
export function createServer(options: CarryOptions): FastifyInstance {
  const nameRequest = createRequestIds();
  const server = fastify({
    logger: false,
    schemaController: NO_SCHEMAS,
    genReqId: ({ headers }) => nameRequest(headers),
    requestIdHeader: false,
    // readBody refuses what is too large: Fastify would close the connection under a client that still writes.
    bodyLimit: Number.MAX_SAFE_INTEGER,
    // A key may be long; Node takes no longer address than this.
    routerOptions: { maxParamLength: 16_384 },
    keepAliveTimeout: KEEP_ALIVE_MS,
    // How long a body may take is for who reads it to say: one that streams may take hours.
    requestTimeout: 0,
    // While it drains, a connection that is there is still served, once, and told to close.
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
  // Bodies stay text: the route's own reader keeps digits that JSON.parse would lose.
  server.addContentTypeParser("application/json", (request, payload, done) => {
    const refusal = refuseEncoding(request.headers);
    if (refusal !== undefined) done(refusal);
    else if (isStreamed(request)) done(null);
    else readBody(payload, options.body_bytes, done);
  });
  server.addContentTypeParser("*", (request, payload, done) => {
    // One that streams is left where it is.
    if (isStreamed(request)) done(refuseEncoding(request.headers) ?? null);
    else if (request.routeOptions.config.takes_any_body) readBody(payload, options.body_bytes, done);
    else done(unsupportedMediaType(request.headers["content-type"]));
  });
  return server;
}

/** Another server than the gateway may stand before this one; a handler never sees the session of a person who uses the dashboard. */
function dropDashboardCookies({ headers }: IncomingMessage): void {
  if (headers.cookie === undefined) return;
  const kept = withoutDashboardCookies(headers.cookie);
  if (kept === undefined) delete headers.cookie;
  else headers.cookie = kept;
}

/** The path and what follows of `http://host/path`, which clients send to proxies and servers take too (RFC 9112, 3.2.2). */
function originForm(url: string): string {
  const whole = /^https?:\/\/[^/?#]*/i.exec(url);
  if (whole === null) return url;
  const rest = url.slice(whole[0].length);
  return rest.startsWith("/") ? rest : `/${rest}`;
}

function noAddress(host: string, cause: unknown): AppError {
  return appError("usage", {
    detail: `${host} is not an address of this machine, so nothing can listen on it.`,
    hint: "Use --host 127.0.0.1 for this machine alone, or --host 0.0.0.0 for the whole network.",
    meta: { host },
    cause,
  });
}

/** @throws port_taken; usage for a host that is not this machine's */
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
