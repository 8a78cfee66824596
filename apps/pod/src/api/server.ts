import { randomUUID } from "node:crypto";
import { appError, toProblem } from "@appdb/contract/errors";
import { CLIENT_VERSION_HEADER, SERVER_VERSION_HEADER, VERSION } from "@appdb/contract/version";
import Fastify, { type FastifyInstance } from "fastify";
import type { DaemonDeps } from "../compose.ts";
import { addDaemonRoutes } from "./daemon-routes.ts";
import { checkClientVersion, checkToken } from "./handshake.ts";
import { addJobRoutes } from "./job-routes.ts";
import { addQueryRoutes } from "./query-routes.ts";
import { addSchemaRoutes } from "./schema-routes.ts";
import { addServiceRoutes } from "./service-routes.ts";

/** A manifest of thousands of columns is far below this. */
const BODY_BYTES = 64_000_000;

/** The daemon's API (contract/routes/local.ts): every request shows the home's token and its version. */
export function createApi(deps: DaemonDeps): FastifyInstance {
  const app = Fastify({ bodyLimit: BODY_BYTES, genReqId: () => randomUUID(), forceCloseConnections: true });
  app.addHook("onRequest", async (request, reply) => {
    reply.header(SERVER_VERSION_HEADER, VERSION);
    reply.header("x-request-id", request.id);
    checkToken(request.headers.authorization, deps.token);
    checkClientVersion(header(request.headers[CLIENT_VERSION_HEADER]));
  });
  app.setErrorHandler((error, request, reply) => {
    const problem = toProblem(asAppError(error), request.id);
    if (problem.code === "internal_error") deps.log.error({ err: error, req: request.id }, "a request failed");
    void reply.code(problem.status).type("application/problem+json").send(JSON.stringify(problem));
  });
  app.setNotFoundHandler((request) => {
    throw appError("not_found", { detail: `The daemon has no ${request.method} ${request.url.split("?")[0]}.` });
  });
  addDaemonRoutes(app, deps);
  addJobRoutes(app, deps);
  addSchemaRoutes(app, deps);
  addQueryRoutes(app, deps);
  addServiceRoutes(app, deps);
  return app;
}

/** Fastify's own errors about a body become ours; everything else stays what it is. */
function asAppError(error: unknown): unknown {
  const { code, message } = error as { code?: string; message?: string };
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") {
    return appError("payload_too_large", { detail: `The body is larger than ${BODY_BYTES} bytes.`, cause: error });
  }
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") {
    return appError("unsupported_media_type", {
      detail: "The body's content type is not application/json.",
      cause: error,
    });
  }
  if (
    code === "FST_ERR_CTP_INVALID_JSON_BODY" ||
    code === "FST_ERR_CTP_EMPTY_JSON_BODY" ||
    error instanceof SyntaxError
  ) {
    return appError("invalid_json", { detail: `The body is not JSON: ${message}.`, cause: error });
  }
  return error;
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
