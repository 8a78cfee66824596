import type { GraphFunction, HttpFailure, HttpHead, HttpHeaders, RequestCaller } from "@appdb/contract/worker-protocol";

/** A request for an application function or application object. */
export interface HandlerRequest {
  readonly head: HttpHead;
  /** The handler that answers; null: the application object. */
  readonly handler: GraphFunction | null;
  /** Time limit for the start of the response; null: that of functions. */
  readonly timeout_ms: number | null;
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
  /** Ends the handler when the caller disconnects. */
  readonly signal?: AbortSignal | undefined;
  /** The routes to which an application object passes the request on have the same caller. */
  readonly caller: RequestCaller | undefined;
}

export interface HandlerAnswer {
  readonly status: number;
  readonly headers: HttpHeaders;
  /** Whole, or in pieces. Iteration throws when the response breaks off; stopping early ends the handler. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
}

/** The application refused a request itself, or failed to answer it. */
export class HandlerFailed extends Error {
  readonly failure: HttpFailure;

  constructor(failure: HttpFailure) {
    super(failure.detail);
    this.name = "HandlerFailed";
    this.failure = failure;
  }
}

/**
 * Runs handlers in separate Python processes, so that none blocks or kills the computation of rows. Each process
 * handles many requests at once. A request whose process dies is not retried, because its effects are unknown.
 */
export interface HandlerRunner extends AsyncDisposable {
  /** Resolves when the response starts. @throws HandlerFailed; AppError function_timeout, worker_died,
   *  worker_unavailable, overloaded; the abort's reason */
  serve(request: HandlerRequest): Promise<HandlerAnswer>;
  /** Starts the processes before the first request. */
  start(): Promise<void>;
}
