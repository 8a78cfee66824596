import type { ManifestRoute } from "@appdb/contract/manifest";
import type { RouteAnswer } from "./answers.ts";

/** A request to a compiled route, as whoever carries it hands it over: nothing of it was looked at but its path. */
export interface RouteRequest {
  readonly body: Uint8Array | string;
  /** The URL's part behind `?`, as it came. */
  readonly search?: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Stands in the answer's problem and in the log. */
  readonly id: string;
  /** Ends the wait for a function when the caller is gone. */
  readonly signal?: AbortSignal | undefined;
}

export interface CompiledRoute {
  readonly service: string;
  readonly kind: ManifestRoute["kind"];
  readonly method: "POST" | "GET";
  /** With the service's prefix; a service's own place (`/<service>`) is added by whoever serves it. */
  readonly path: string;
  /** True when a request may wait for Python: workers are worth starting ahead. */
  readonly uses_python: boolean;
  /** True when a request may be ended early once its caller is gone. */
  readonly takes_signal: boolean;
  /** Answers every request; never rejects. */
  handle(request: RouteRequest): Promise<RouteAnswer>;
}
