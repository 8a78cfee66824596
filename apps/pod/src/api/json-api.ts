import { randomUUID } from "node:crypto";
import { appError, toProblem } from "@appdb/contract/errors";
import { SERVER_VERSION_HEADER, VERSION } from "@appdb/contract/version";
import type { Logger } from "@appdb/engine/ports";
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import { NO_SCHEMAS } from "../http/no-schemas.ts";

/** A manifest of thousands of columns is far below this. */
const BODY_BYTES = 64_000_000;

export interface JsonApiOptions {
  readonly log: Logger;
  /** What answers, for messages: `daemon`, `pod`. */
  readonly name: string;
  /** At the end connections are closed at once, or `idle`: once their request is answered. */
  readonly close: "all" | "idle";
  /** Called before anything of a request is looked at. @throws what the request is refused with */
  authorize(request: FastifyRequest): void;
}

/** A server of JSON: who is let in, and how errors are answered. */
export function createJsonApi({ log, name, close, authorize }: JsonApiOptions): FastifyInstance {
  const app = Fastify({
    schemaController: NO_SCHEMAS,
    // paths of tables: folders and a name
    routerOptions: { maxParamLength: 1_000 },
    bodyLimit: BODY_BYTES,
    genReqId: () => randomUUID(),
    forceCloseConnections: close === "all" || "idle",
  });
  app.addHook("onRequest", async (request, reply) => {
    reply.header(SERVER_VERSION_HEADER, VERSION);
    reply.header("x-request-id", request.id);
    authorize(request);
  });
  app.setErrorHandler((error, request, reply) => {
    const problem = toProblem(asAppError(error), request.id);
    if (problem.code === "internal_error") log.error({ err: error, req: request.id }, "a request failed");
    void reply.code(problem.status).type("application/problem+json").send(JSON.stringify(problem));
  });
  app.setNotFoundHandler((request) => {
    throw appError("not_found", { detail: `The ${name} has no ${request.method} ${request.url.split("?")[0]}.` });
  });
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
