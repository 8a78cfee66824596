import { AppError, type ErrorCode, toProblem } from "@appdb/contract/errors";
import type { Logger } from "../ports.ts";

/** What a route answers; how it travels is not the engine's business. */
export interface RouteAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Headers beside these, of which a name may stand there several times, as `set-cookie` does. */
  readonly more_headers?: readonly (readonly [name: string, value: string])[];
  /**
   * A stream goes out as fast as the caller reads it, and is left (`return()`) when the caller goes away. One that throws ends
   * the connection in the middle of the answer, which is how a caller can tell.
   */
  readonly body: string | Buffer | AsyncIterable<Uint8Array | string>;
  /** Of a stream without an end of its own: it is left when the service stops, which would wait for it otherwise. */
  readonly is_endless?: boolean;
}

/** The text of an answer that does not stream. */
export function wholeText(answer: RouteAnswer): string {
  const { body } = answer;
  if (typeof body === "string") return body;
  if (Buffer.isBuffer(body)) return body.toString("utf8");
  throw new TypeError("The answer streams.");
}

export const JSON_HEADERS = { "content-type": "application/json; charset=utf-8" } as const;
/** What web servers call a request that its client has left. */
const CLIENT_GONE = 499;
export const PROBLEM_HEADERS = { "content-type": "application/problem+json; charset=utf-8" } as const;
/** Nothing was done, and soon may be. */
const AGAIN: ReadonlySet<string> = new Set([
  "database_unavailable",
  "overloaded",
  "worker_unavailable",
  "keys_unavailable",
]);
const AGAIN_HEADERS = { ...PROBLEM_HEADERS, "retry-after": "1" } as const;

/** In one line: where such an error comes from is known, and there may be thousands of them. */
function causeOf({ cause }: AppError): { readonly cause?: string } {
  return cause instanceof Error ? { cause: cause.message } : {};
}

/** Errors of the application's own code: the request is not to blame, and a person must look. */
const OF_CODE: ReadonlySet<ErrorCode> = new Set([
  "function_failed",
  "function_missing",
  "function_timeout",
  "worker_died",
  "worker_out_of_memory",
]);

/** Names the code of an answer that failed in the application's code, so that who counts by status counts it as failed. */
export const FAILED_HEADER = "x-failed";

/** The headers of a problem with this code. */
export function problemHeaders(code: ErrorCode): Readonly<Record<string, string>> {
  if (OF_CODE.has(code)) return { ...PROBLEM_HEADERS, [FAILED_HEADER]: code };
  return AGAIN.has(code) ? AGAIN_HEADERS : PROBLEM_HEADERS;
}

/** Logs a request that was answered with 4xx: as an error where the application's code failed. */
export function logRefusal(log: Logger, code: ErrorCode, fields: Readonly<Record<string, unknown>>): void {
  if (OF_CODE.has(code)) log.error(fields, "request failed");
  else log.info(fields, "request refused");
}

/**
 * Turns whatever a request threw into its answer, and logs it once: ours with all there is, the caller's as info.
 * `signal` is that of a request whose client may have gone away, which is nobody's fault and read by nobody.
 */
export function answerError(error: unknown, id: string, log: Logger, signal?: AbortSignal): RouteAnswer {
  if (signal?.aborted === true && error === signal.reason) {
    log.info({ req: id }, "client went away");
    return { status: CLIENT_GONE, headers: {}, body: "" };
  }
  const problem = toProblem(error, id);
  const fields = { req: id, code: problem.code, status: problem.status, detail: problem.detail };
  if (!(error instanceof AppError)) log.error({ ...fields, err: error }, "request failed");
  else if (AGAIN.has(error.code)) log.warn({ ...fields, ...causeOf(error) }, "request failed");
  else if (error.status >= 500) log.warn({ ...fields, err: error.cause }, "request failed");
  else logRefusal(log, error.code, fields);
  return { status: problem.status, headers: problemHeaders(problem.code), body: JSON.stringify(problem) };
}
