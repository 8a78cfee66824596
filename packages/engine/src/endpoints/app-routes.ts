import { appError } from "@appdb/contract/errors";
import type { ManifestService } from "@appdb/contract/manifest";
import type { HttpFailure, HttpHead, HttpHeaders } from "@appdb/contract/worker-protocol";
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

/** The routes that Python can call. Application objects call their routers' routes; handlers call those that change
 *  table rows. Neither method rejects. */
export interface InnerRoutes {
  /** Calls a route by its id in the manifest. `signal` aborts when the caller disconnects. */
  answer(route: string, head: HttpHead, data: Uint8Array, signal?: AbortSignal): Promise<InnerAnswer>;
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
    async answer(id, head, data, signal) {
      try {
        return await toInnerAnswer(await ask(known.get(id) ?? others(id), requestOf(head, data), signal));
      } catch (error) {
        return toInnerAnswer(answerError(error, head.id, log, signal));
      }
    },
    problem: (failure, id) => toInnerAnswer(answerFailure(failure, id, log)),
  };
}

/** @throws not_found, invalid_request for a live query */
function ask(
  route: CompiledRoute | undefined,
  request: RouteRequest,
  signal: AbortSignal | undefined,
): Promise<RouteAnswer> {
  if (route === undefined) {
    throw appError("not_found", {
      detail: "The application's code has a route that the service does not have.",
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
