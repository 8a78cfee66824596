import { appError, ERRORS, type ErrorCode, isErrorCode, toProblem } from "@appdb/contract/errors";
import { handlerNames } from "@appdb/contract/handler-names";
import type { ManifestHandlerRoute, ManifestService } from "@appdb/contract/manifest";
import type { HttpFailure, HttpHeaders } from "@appdb/contract/worker-protocol";
import { answerError, FAILED_HEADER, logRefusal, problemHeaders, type RouteAnswer } from "../answers/answers.ts";
import { type HandlerAnswer, HandlerFailed, type HandlerRequest, type HandlerRunner } from "../handler-ports.ts";
import type { Json, JsonObject } from "../kinds/kind.ts";
import { BODY, errorResponses, PYTHON } from "../openapi/errors.ts";
import { operationId } from "../openapi/named-schemas.ts";
import type { Logger } from "../ports.ts";
import type { CompiledRoute, RouteRequest } from "../routes/route.ts";
import { compareNames } from "./route-changes.ts";
import type { RouteKind } from "./route-kind.ts";

/** The parts of a `RouteContext` that Python handlers need. */
export interface HandlerContext {
  readonly deps: { readonly log: Logger };
  handlers(): HandlerRunner;
}

const METHODS = { get: "GET", post: "POST", put: "PUT", patch: "PATCH", delete: "DELETE" } as const;

/** A function of the application handles the requests itself. */
export const handlerKind = {
  title: "a hand-written",
  isHandler: true,
  computesColumns: false,
  changesRows: true,
  check: () => undefined,
  compile: compileHandlerRoute,
  describe(route) {
    const { inputs, outputs } = handlerNames(route);
    return { table: null, query: null, one_row: false, inputs: [...inputs], outputs: [...outputs] };
  },
  /** The parameters that Python read from the signature, and the common errors. */
  openapi(route, { path }) {
    if (route.openapi === null) return undefined;
    const fragment = route.openapi as JsonObject;
    const responses = { ...errorResponses(HANDLER_ERRORS), ...(fragment.responses as JsonObject), default: OTHERS };
    return { operationId: operationId(route, path), ...fragment, responses };
  },
  compare(before, after, _, changes) {
    if (before.kind !== after.kind) return;
    const now = handlerNames(after);
    compareNames(handlerNames(before), now, (name) => !now.required.includes(name), changes);
    if (changes.breaking.length + changes.compatible.length > 0) return;
    if (JSON.stringify(before.openapi) !== JSON.stringify(after.openapi)) {
      changes.compatible.push("its description changed");
    }
  },
  overTable: () => undefined,
} as const satisfies RouteKind<ManifestHandlerRoute>;

/** Errors of any handler, in addition to its own. */
const HANDLER_ERRORS = [...BODY, ...PYTHON, "overloaded", "worker_unavailable", "handler_interrupted"] as const;

/** A handler can refuse with any status. */
const OTHERS: Json = {
  description: "`handler_failed`: the application refused the request",
  content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
};

function compileHandlerRoute(
  context: HandlerContext,
  service: ManifestService,
  route: ManifestHandlerRoute,
): CompiledRoute {
  const timeoutMs = route.timeout_s === null ? null : route.timeout_s * 1000;
  return {
    service: service.name,
    is_handler: true,
    method: METHODS[route.method],
    path: service.prefix + route.path,
    // Handlers run in separate processes.
    uses_python: false,
    takes_signal: true,
    takes_any_body: true,
    // A handler with GET answers HEAD in the same way; the body is then omitted.
    handle: (request) =>
      answerByPython(context, request, {
        handler: route.handler,
        timeout_ms: timeoutMs,
        method: METHODS[route.method],
      }),
  };
}

/** Makes Python handle a request. Never rejects. */
export async function answerByPython(
  context: HandlerContext,
  request: RouteRequest,
  how: Pick<HandlerRequest, "handler" | "timeout_ms"> & { readonly method?: string },
): Promise<RouteAnswer> {
  const { log } = context.deps;
  try {
    const { route, body, id } = request;
    if (route === undefined) throw new TypeError("the request has no address");
    const answer = await context.handlers().serve({
      head: {
        method: how.method ?? route.method,
        scheme: route.scheme,
        path: route.path,
        root_path: route.root_path,
        search: request.search ?? "",
        headers: pairsOf(request.headers),
        params: { ...route.params },
        client: route.client === null ? null : [...route.client],
        id,
      },
      handler: how.handler,
      timeout_ms: how.timeout_ms,
      body: request.stream ?? (typeof body === "string" ? Buffer.from(body) : body),
      signal: request.signal,
      caller: request.caller,
    });
    const isEndless = !(answer.body instanceof Uint8Array) && isEventStream(answer.headers);
    const moreHeaders = sendable(answer.headers);
    if (answer.status === INTERNAL) log.error({ req: id, status: INTERNAL, path: route.path }, "request failed");
    return {
      status: answer.status,
      headers: {},
      more_headers: moreHeaders,
      body: bodyOf(answer),
      is_endless: isEndless,
    };
  } catch (error) {
    if (error instanceof HandlerFailed) return answerFailure(error.failure, request.id, log);
    return answerError(error, request.id, log, request.signal);
  }
}

/** The status that a framework returns for an exception before other code sees it. */
const INTERNAL = 500;

/** An event stream lasts as long as its client listens. The client reconnects when it ends. */
function isEventStream(headers: HttpHeaders): boolean {
  return headers.some(([name, value]) => name.toLowerCase() === "content-type" && /^text\/event-stream\b/i.test(value));
}

function bodyOf({ body }: HandlerAnswer): RouteAnswer["body"] {
  return body instanceof Uint8Array ? Buffer.from(body.buffer, body.byteOffset, body.byteLength) : body;
}

/** Headers as pairs, without those of a content encoding that has been decoded, including the length. */
function pairsOf(headers: RouteRequest["headers"]): HttpHeaders {
  const wasPacked = headers["content-encoding"] !== undefined;
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || (wasPacked && OF_PACKING.has(name))
      ? []
      : [value].flat().map((one): [string, string] => [name, one]),
  );
}

const OF_PACKING: ReadonlySet<string> = new Set(["content-encoding", "content-length"]);

/** Removes the headers that the service itself sets. */
function sendable(headers: HttpHeaders): HttpHeaders {
  return headers.filter(([name]) => name !== "x-request-id" && name !== FAILED_HEADER);
}

/** The response to a failure reported by Python. */
export function answerFailure(failure: HttpFailure, id: string, log: Logger): RouteAnswer {
  const { code, detail, status, meta } = failure;
  const known: ErrorCode = code !== null && isErrorCode(code) ? code : "handler_failed";
  const hint = failure.hint ?? undefined;
  const error = appError(known, {
    detail: detail || ERRORS[known].title,
    hint,
    meta,
    errors: failure.errors ?? undefined,
  });
  const problem = { ...toProblem(error, id), ...(status === null ? {} : { status }) };
  const fields = { req: id, code: problem.code, status: problem.status, detail: problem.detail };
  if (problem.status >= INTERNAL) log.warn(fields, "request failed");
  else logRefusal(log, known, fields);
  return {
    status: problem.status,
    headers: problemHeaders(known),
    more_headers: sendable(failure.headers).filter(([name]) => name !== "content-type"),
    body: JSON.stringify(problem),
  };
}
