import type { ManifestBackground, ManifestCors, ManifestRoute } from "@appdb/contract/manifest";
import type { RouteAnswer } from "../answers/answers.ts";
import type { Once } from "../idempotency/request-store.ts";
import type { Timing } from "../timing.ts";

/** A request to a compiled route, as whoever carries it hands it over: nothing of it was looked at but its path. */
export interface RouteRequest {
  /** Empty when the body comes as `stream`. */
  readonly body: Uint8Array | string;
  /**
   * In place of `body`, for content types that the route names in `streams`: the next piece is read when it is asked for. May
   * be left before its end. Throws when it breaks off: the signal's reason when the caller has gone.
   */
  readonly stream?: AsyncIterable<Uint8Array> | undefined;
  /** The URL's part behind `?`, as it came. */
  readonly search?: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Stands in the answer's problem and in the log. */
  readonly id: string;
  /** Whose request it is, as far as keys of requests are concerned; one name for all callers on this machine. */
  readonly caller?: string | undefined;
  /** Given to a changing route, it does the request once; in place of what the header Idempotency-Key says. */
  readonly once?: Once;
  /** For routes with `takes_any_body` or that stream everything. */
  readonly place?: RouteAddress | undefined;
  /** Ends the wait for a function when the caller is gone. A request with a stream always has one. */
  readonly signal?: AbortSignal | undefined;
  /** Takes down where the time goes, when the client wants to know. */
  readonly timing?: Timing | undefined;
}

/** Where a request came to, and from where. */
export interface RouteAddress {
  /** As the client sent it: `HEAD` for a route that answers GET too. */
  readonly method: string;
  readonly scheme: "http" | "https";
  /** Below the service's own place, as it was sent. */
  readonly path: string;
  /** The service's own place: empty, or `/<service>`. */
  readonly root_path: string;
  /** Values of the path's parameters, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly client: readonly [host: string, port: number] | null;
}

export interface CompiledRoute {
  readonly service: string;
  readonly method: "POST" | "GET" | "PUT" | "PATCH" | "DELETE" | "ANY";
  /** May have parts `{name}`; `/*` is all that no other route of the service answers. With the service's prefix; a service's own place (`/<service>`) is added by whoever serves it. */
  readonly path: string;
  /** True when processes of the application answer, and not the engine. */
  readonly is_handler?: boolean;
  /** True when a request may ask for a stream of events. */
  readonly has_events?: boolean;
  /** True when a request may wait for Python: workers are worth starting ahead. */
  readonly uses_python: boolean;
  /** True when a request may be ended early once its caller is gone. */
  readonly takes_signal: boolean;
  /** Content types, in lower case and without parameters, whose bodies come as `stream`; `*` is every one, and none. */
  readonly streams?: readonly string[];
  /** Bodies of every content type come, as bytes or text, and the request's place with them. */
  readonly takes_any_body?: boolean;
  /** What the service says of pages of other origins; `own`: it answers for that itself. */
  readonly cors?: ManifestCors | "own" | null;
  /** Throws what the route would answer a request that does not fit it. */
  readonly check?: (request: RouteRequest) => void;
  /** Answers every request; never rejects. */
  handle(request: RouteRequest): Promise<RouteAnswer>;
}

/** How a route works in the background; null where it answers what it does. */
export function backgroundOf(route: ManifestRoute): ManifestBackground | null {
  return "background" in route ? (route.background ?? null) : null;
}
