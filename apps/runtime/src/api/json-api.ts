import { randomUUID } from "node:crypto";
import { AppError, appError, type ErrorCode, toProblem } from "@appdb/contract/errors";
import { MANIFEST_VERSION } from "@appdb/contract/manifest";
import { wrongName } from "@appdb/contract/manifest-names";
import type { Answered, Api, CheckedRoute } from "@appdb/contract/routes/api";
import { BUILD, SERVER_BUILD_HEADER, SERVER_VERSION_HEADER, VERSION } from "@appdb/contract/version";
import { explainFullDisk } from "@appdb/engine/answers/answers";
import type { Logger } from "@appdb/engine/ports";
import { type Call, endOf, mountRoute, wasLeft } from "@appdb/http/mount-api";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type RouteOptions } from "fastify";
import type { z } from "zod";
import type { MachineDisk } from "../disks/machine-disk.ts";
import { NO_SCHEMAS } from "../http/no-schemas.ts";

/** What every API of this program needs. */
export interface ApiDeps {
  readonly log: Logger;
  /** Missing for an API without a PostgreSQL. */
  readonly machine_disk?: Pick<MachineDisk, "explain"> | undefined;
  /** Names the cause in the error of a request that PostgreSQL did not answer. */
  readonly explainOutage?: ((error: unknown) => unknown) | undefined;
}

/** Writes one line of an NDJSON response. */
type Emit = (line: object) => void;

/**
 * Responds with NDJSON: the lines that `work` emits, then one `done` line with its result or one `error` line. The
 * signal aborts when the client disconnects.
 */
async function answerEvents(
  deps: ApiDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  work: (emit: Emit, signal: AbortSignal) => Promise<object>,
): Promise<void> {
  const aborted = endOf(reply);
  const emit: Emit = (line) => {
    if (!aborted.aborted) reply.raw.write(`${JSON.stringify(line)}\n`);
  };
  reply.hijack();
  reply.raw.writeHead(200, { ...headersOf(reply), "content-type": "application/x-ndjson" });
  // send headers immediately, so that the client knows that its request was accepted
  reply.raw.flushHeaders();
  try {
    emit({ event: "done", ...(await work(emit, aborted)) });
  } catch (error) {
    const problem = toProblem(await explained(explainFullDisk(error), deps, request.method), request.id);
    if (problem.code === "internal_error" && !aborted.aborted) {
      deps.log.error({ err: error, req: request.id }, "a request failed");
    }
    emit({ event: "error", problem });
  } finally {
    reply.raw.end();
  }
}

/** Names what this program knows about the cause of an error. */
export async function explained(thrown: unknown, deps: ApiDeps, method: string): Promise<unknown> {
  const { explainOutage: name, machine_disk: disk } = deps;
  const known = method === "GET" ? cutRead(thrown) : thrown;
  const error = name === undefined ? known : name(known);
  return disk === undefined ? error : await disk.explain(error);
}

/** A read whose connection broke has no outcome that anyone must check. */
function cutRead(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== "commit_unknown") return error;
  return appError("database_unavailable", {
    detail: "The connection to PostgreSQL broke while it was read. Nothing was changed.",
    hint: "Try again in a moment.",
    cause: error,
  });
}

/** Headers that hooks have set; a hijacked reply must send them itself. */
export function headersOf(reply: FastifyReply): Record<string, string> {
  const headers = Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined);
  return Object.fromEntries(headers.map(([name, value]) => [name, String(value)]));
}

const MAX_ERRORS = 20;

/** Parses a client's input. @throws invalid_request, manifest_invalid, manifest_too_new, app_invalid for a name in a manifest */
export function parseRequest<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const code: ErrorCode = issues.every((issue) => issue.path[0] === "manifest")
    ? "manifest_invalid"
    : "invalid_request";
  refuseNewerManifest(value);
  const refused = wrongName(parsed.error);
  if (refused !== undefined) throw refused;
  const errors = issues.slice(0, MAX_ERRORS).map((issue) => ({
    pointer: `/${issue.path.map(String).join("/")}`,
    detail: issue.message,
  }));
  throw appError(code, {
    detail: `The request is invalid: ${errors.map((error) => `${error.pointer}: ${error.detail}`).join("; ")}.`,
    errors,
  });
}

function refuseNewerManifest(value: unknown): void {
  const version = (value as { manifest?: { manifest_version?: unknown } } | null)?.manifest?.manifest_version;
  if (typeof version !== "number" || version <= MANIFEST_VERSION) return;
  throw appError("manifest_too_new", {
    detail: `The manifest has version ${version}; this daemon supports versions up to ${MANIFEST_VERSION}.`,
    hint: "Upgrade the command: pip install --upgrade 'appdb[serve]', then cli daemon restart",
    meta: { version, newest: MANIFEST_VERSION },
  });
}

/** Far above a manifest with thousands of columns. */
const BODY_BYTES = 64_000_000;

export interface JsonApiOptions extends ApiDeps {
  /** Name of the program for messages: `daemon`, `pod`. */
  readonly name: string;
  /** Whether the end closes connections immediately, or (`idle`) after their request is answered. */
  readonly close: "all" | "idle";
  /** Called before any part of a request is read. @throws the error that refuses the request */
  authorize(request: FastifyRequest): void;
}

/** A JSON server with authorization and error handling. */
export function createJsonApi(options: JsonApiOptions): FastifyInstance {
  const { authorize, close, log, name } = options;
  const app = Fastify({
    schemaController: NO_SCHEMAS,
    // table paths contain folders and a name
    routerOptions: { maxParamLength: 1_000 },
    bodyLimit: BODY_BYTES,
    genReqId: () => randomUUID(),
    forceCloseConnections: close === "all" || "idle",
  });
  app.addHook("onRequest", async (request, reply) => {
    reply.headers({ [SERVER_VERSION_HEADER]: VERSION, "x-request-id": request.id });
    authorize(request);
    reply.header(SERVER_BUILD_HEADER, BUILD ?? "source");
  });
  app.setErrorHandler(async (error, request, reply) => {
    const problem = toProblem(await explained(asAppError(error), options, request.method), request.id);
    if (wasLeft(reply, error)) log.info({ req: request.id }, "the client of a request left");
    else if (problem.code === "internal_error") log.error({ err: error, req: request.id }, "a request failed");
    return await reply.code(problem.status).type("application/problem+json").send(JSON.stringify(problem));
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
export function mountApi<A extends Api>(app: FastifyInstance, deps: ApiDeps, api: A, handlers: Handlers<A>): void {
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
    else addUnread(app, mounted);
  }
}

/** Adds a route whose handler reads the body itself, of any type. */
export function addUnread(app: FastifyInstance, route: RouteOptions): void {
  void app.register(async (scope) => void takeBodies(scope).route(route));
}

/** Leaves bodies unread, because the route is known only after its table is found. */
function takeBodies(scope: FastifyInstance): FastifyInstance {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
  return scope;
}

/** Converts PostgreSQL's error without disk space and Fastify's errors about a body to ours; passes on all others. */
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
  return explainFullDisk(error);
}
