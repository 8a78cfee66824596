import { appError } from "@appdb/contract/errors";
import type { ManifestService } from "@appdb/contract/manifest";
import type { HttpFailure, HttpHead, HttpHeaders, RequestCaller } from "@appdb/contract/worker-protocol";
import { answerError, type RouteAnswer } from "../answers/answers.ts";
import type { Logger } from "../ports.ts";
import { answerByPython, answerFailure, type HandlerContext } from "../route-kinds/handler.ts";
import { refuseLiveInside, wantsEvents } from "../route-kinds/live-answer.ts";
import type { CompiledRoute, RouteRequest } from "../routes/route.ts";

/** A response that an application object passes on. */
export interface InnerAnswer {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly data: Uint8Array;
}

/** What limits a call: whose request is passed on, and whether its client is there. */
interface OuterRequest {
  readonly caller?: RequestCaller | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The routes that Python can call. Application objects call their routers' routes; handlers call those that change
 *  table rows. Neither method rejects. */
export interface InnerRoutes {
  /** Calls a route by its id in the manifest. */
  answer(route: string, head: HttpHead, data: Uint8Array, outer?: OuterRequest): Promise<InnerAnswer>;
  /** The response for a failure of a handler. */
  problem(failure: HttpFailure, id: string): Promise<InnerAnswer>;
}

type Application = NonNullable<ManifestService["app"]>;

/** Compiles the single route of a service with an application object, which handles every request. */
export function compileApplication(context: HandlerContext, service: ManifestService): CompiledRoute {
  return {
    service: service.name,
    is_handler: true,
    method: "ANY",
    path: "/*",
    uses_python: false,
    takes_signal: true,
    streams: ["*"],
    cors: "own",
    handle: (request) => answerByPython(context, request, { handler: null, timeout_ms: null }),
  };
}

/** Opens the routes that Python can call. `routes` are those of `app.routes`, in order; `others` are all others by
 *  id. */
export function openInnerRoutes(
  applications: readonly { readonly app: Application; readonly routes: readonly (CompiledRoute | undefined)[] }[],
  others: (id: string) => CompiledRoute | undefined,
  log: Logger,
): InnerRoutes {
  const known = new Map<string, CompiledRoute>();
  for (const { app, routes } of applications) {
    for (const [index, id] of app.routes.entries()) {
      const route = routes[index];
      if (route !== undefined) known.set(id, route);
    }
  }
  return {
    async answer(id, head, data, { caller, signal } = {}) {
      try {
        const request = { ...requestOf(head, data), caller };
        return await toInnerAnswer(await ask(id, known.get(id) ?? others(id), request, signal));
      } catch (error) {
        return toInnerAnswer(answerError(error, head.id, log, signal));
      }
    },
    problem: (failure, id) => toInnerAnswer(answerFailure(failure, id, log)),
  };
}

/** @throws not_found, invalid_request for a live query */
function ask(
  id: string,
  route: CompiledRoute | undefined,
  request: RouteRequest,
  signal: AbortSignal | undefined,
): Promise<RouteAnswer> {
  if (route === undefined) {
    throw appError("not_found", {
      detail: `The application's code calls the route '${id}', which the running service does not have.`,
      hint: "Start the service with the present files: `cli service update`.",
    });
  }
  if (route.has_events === true && wantsEvents(request)) refuseLiveInside();
  return route.handle(route.takes_signal ? { ...request, signal } : request);
}

function requestOf(head: HttpHead, data: Uint8Array): RouteRequest {
  const headers: Record<string, string> = {};
  for (const [name, value] of head.headers) headers[name] = value;
  return { body: data, search: head.search, headers, id: head.id };
}

async function toInnerAnswer(answer: RouteAnswer): Promise<InnerAnswer> {
  const headers: HttpHeaders = [...Object.entries(answer.headers), ...(answer.more_headers ?? [])].map(
    ([name, value]) => [name, value],
  );
  return { status: answer.status, headers, data: await readWholeBody(answer.body) };
}

async function readWholeBody(body: RouteAnswer["body"]): Promise<Uint8Array> {
  if (typeof body === "string") return Buffer.from(body);
  if (Buffer.isBuffer(body)) return body;
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(typeof piece === "string" ? Buffer.from(piece) : piece);
  return Buffer.concat(pieces);
}
