import { randomUUID } from "node:crypto";
import { appError, toProblem } from "@appdb/contract/errors";
import type { Answered, Api, CheckedRoute } from "@appdb/contract/routes/api";
import { SERVER_VERSION_HEADER, VERSION } from "@appdb/contract/version";
import type { Logger } from "@appdb/engine/ports";
import { type Call, mountRoute } from "@appdb/http/mount-api";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { NO_SCHEMAS } from "../http/no-schemas.ts";
import { answerEvents, type Emit } from "./event-streams.ts";
import { parseRequest } from "./parse.ts";

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

type Work<Last> = (emit: Emit, signal: AbortSignal) => Promise<Last>;
type Result<R extends CheckedRoute> = R extends { readonly answers: "events" }
  ? Work<Answered<R>>
  : R extends { readonly answers: "lines" }
    ? Work<object>
    : Answered<R> | undefined;

/** By the names of the routes; one that answers events returns the work that they come from, once nothing refuses it. */
export type Handlers<A extends Api> = {
  readonly [Name in keyof A]: (
    call: Call<A[Name], FastifyRequest, FastifyReply>,
  ) => Promise<Result<A[Name]>> | Result<A[Name]>;
};

/** Registers the routes of an API. */
export function mountApi<A extends Api>(
  app: FastifyInstance,
  deps: { readonly log: Logger },
  api: A,
  handlers: Handlers<A>,
): void {
  const finish = async (
    route: CheckedRoute,
    returned: unknown,
    { reply, request }: Call<CheckedRoute, FastifyRequest, FastifyReply>,
  ) => {
    if (route.answers === undefined) return returned;
    return await answerEvents(deps, request, reply, returned as Work<object>);
  };
  for (const [name, route] of Object.entries(api)) {
    const handler = handlers[name] as (call: Call<CheckedRoute, FastifyRequest, FastifyReply>) => unknown;
    const mounted = mountRoute(route, { parse: parseRequest, finish }, handler);
    if (route.streams === undefined) app.route(mounted);
    else void app.register(async (scope) => void takeBodies(scope).route(mounted));
  }
}

/** Leaves bodies where they are: which route a request is for shows only when its table is known. */
function takeBodies(scope: FastifyInstance): FastifyInstance {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
  return scope;
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
