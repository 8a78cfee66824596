import { AppError, toProblem } from "@appdb/contract/errors";
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
  else if (error.status >= 500) log.warn({ ...fields, err: error.cause }, "request failed");
  else log.info(fields, "request refused");
  const headers = AGAIN.has(problem.code) ? AGAIN_HEADERS : PROBLEM_HEADERS;
  return { status: problem.status, headers, body: JSON.stringify(problem) };
}
