import type { NotePart } from "./timing.ts";

/** Records how requests were answered, for trace collectors. */
export interface RequestTracer {
  /** Starts the trace of a request, as part of the one in its headers (W3C Trace Context), else a new one. Undefined
   *  when it is not sampled. */
  begin(request: TracedRequest): RequestTrace | undefined;
}

export interface TracedRequest {
  readonly service: string;
  readonly method: string;
  /** The route's path, with `{name}` for parameters. */
  readonly route: string;
  readonly id: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface RequestTrace {
  /** The trace header for forwarded requests. */
  readonly traceparent: string;
  /** A wait within the request, recorded when it ends. */
  readonly note: NotePart;
  end(status: number): void;
}
