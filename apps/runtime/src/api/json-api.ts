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

/** Far above a manifest with thousands of columns. */
const BODY_BYTES = 64_000_000;

export interface JsonApiOptions {
  readonly log: Logger;
  /** Name of the program for messages: `daemon`, `pod`. */
  readonly name: string;
  /** Whether the end closes connections immediately, or (`idle`) after their request is answered. */
  readonly close: "all" | "idle";
  /** Called before any part of a request is read. @throws the error that refuses the request */
  authorize(request: FastifyRequest): void;
}

/** A JSON server with authorization and error handling. */
export function createJsonApi({ log, name, close, authorize }: JsonApiOptions): FastifyInstance {
  const app = Fastify({
    schemaController: NO_SCHEMAS,
    // table paths contain folders and a name
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

/** Handlers by route name. A handler of an event route returns the work after its checks have passed. */
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

/** Leaves bodies unread, because the route is known only after its table is found. */
function takeBodies(scope: FastifyInstance): FastifyInstance {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
  return scope;
}

/** Converts Fastify's errors about a body to ours; passes on all others. */
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
