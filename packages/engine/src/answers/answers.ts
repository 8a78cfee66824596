import { AppError, appError, type ErrorCode, toProblem } from "@appdb/contract/errors";
import { type Logger, SqlError } from "../ports.ts";

/** The response of a route, independent of the transport. */
export interface RouteAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Additional headers. A name can occur several times, as `set-cookie` does. */
  readonly more_headers?: readonly (readonly [name: string, value: string])[];
  /**
   * A stream is sent at the speed of the reader, and closed by `return()` when the client disconnects. If it throws,
   * the connection ends in the middle of the response, which tells the client.
   */
  readonly body: string | Buffer | AsyncIterable<Uint8Array | string>;
  /** For an endless stream: it is closed when the service stops, which would otherwise wait for it. */
  readonly is_endless?: boolean;
}

/** The text of a response that does not stream. */
export function wholeText(answer: RouteAnswer): string {
  const { body } = answer;
  if (typeof body === "string") return body;
  if (Buffer.isBuffer(body)) return body.toString("utf8");
  throw new TypeError("The answer streams.");
}

export const JSON_HEADERS = { "content-type": "application/json; charset=utf-8" } as const;
/** The usual status of web servers for a client that disconnected. */
const CLIENT_GONE = 499;
export const PROBLEM_HEADERS = { "content-type": "application/problem+json; charset=utf-8" } as const;
/** Codes of refusals that did nothing and that a retry may pass. */
const AGAIN: ReadonlySet<string> = new Set([
  "database_unavailable",
  "overloaded",
  "worker_unavailable",
  "keys_unavailable",
]);
const AGAIN_HEADERS = { ...PROBLEM_HEADERS, "retry-after": "1" } as const;

/** One line: the source of such an error is known, and there may be thousands of them. */
function causeOf({ cause }: AppError): { readonly cause?: string } {
  return cause instanceof Error ? { cause: cause.message } : {};
}

/** Whether the body of a request ended before its end: Node's error when the client disconnects. */
function isCutBody(error: unknown): boolean {
  return error instanceof Error && error.message === "aborted" && "code" in error && error.code === "ECONNRESET";
}

/** Errors of the application's own code. The request is not the cause, and a person must look. */
const OF_CODE: ReadonlySet<ErrorCode> = new Set([
  "function_failed",
  "function_missing",
  "function_timeout",
  "worker_died",
  "worker_out_of_memory",
]);

/** Holds the code of an error in the application's code. Code that counts by status counts such a response as
 *  failed. */
export const FAILED_HEADER = "x-failed";

/** The headers of a problem with this code. */
export function problemHeaders(code: ErrorCode): Readonly<Record<string, string>> {
  if (OF_CODE.has(code)) return { ...PROBLEM_HEADERS, [FAILED_HEADER]: code };
  return AGAIN.has(code) ? AGAIN_HEADERS : PROBLEM_HEADERS;
}

/** Logs a 4xx response: as an error if the application's code failed, otherwise as info. */
export function logRefusal(log: Logger, code: ErrorCode, fields: Readonly<Record<string, unknown>>): void {
  if (OF_CODE.has(code)) log.error(fields, "request failed");
  else log.info(fields, "request refused");
}

/**
 * The log of routes that people call on tables. They read the answer, so that a failure of the application's code is
 * information, as any other refused request.
 */
export function logOfPeople(log: Logger): Logger {
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => log.info(fields, message),
    warn: (fields, message) => log.warn(fields, message),
    error(fields, message) {
      const code = "code" in fields ? (fields.code as ErrorCode) : undefined;
      if (code !== undefined && OF_CODE.has(code)) log.info(fields, "request refused");
      else log.error(fields, message);
    },
  };
}

/** The hint about a disk that PostgreSQL found full. Deleted rows free none of it, and limits refuse writes earlier. */
export const FREE_MACHINE_DISK = "The operator of the machine must free space on it. Then send the request again.";

const FULL_STATE = "53100";

/** Converts PostgreSQL's error without disk space, which any statement and connection can get; passes on all others. */
export function explainFullDisk(error: unknown): unknown {
  const isFull = error instanceof SqlError && error.sqlstate === FULL_STATE;
  const isRefused = error instanceof AppError && error.code === "database_unavailable";
  if (!isFull && !(isRefused && error.meta.sqlstate === FULL_STATE)) return error;
  return appError("disk_full", {
    detail: "The disk of the database's machine is full; PostgreSQL cannot write.",
    hint: FREE_MACHINE_DISK,
    cause: error,
  });
}

/**
 * Converts any error of a request into its response and logs it once. Server errors are logged in full, client errors
 * as info. If the client of `signal` has disconnected, there is no error and no reader.
 */
export function answerError(error: unknown, id: string, log: Logger, signal?: AbortSignal): RouteAnswer {
  if ((signal?.aborted === true && error === signal.reason) || isCutBody(error)) {
    log.info({ req: id }, "client went away");
    return { status: CLIENT_GONE, headers: {}, body: "" };
  }
  const known = explainFullDisk(error);
  const problem = toProblem(known, id);
  const fields = { req: id, code: problem.code, status: problem.status, detail: problem.detail };
  if (!(known instanceof AppError)) log.error({ ...fields, err: known }, "request failed");
  else if (AGAIN.has(known.code)) log.warn({ ...fields, ...causeOf(known) }, "request failed");
  else if (known.status >= 500) log.warn({ ...fields, err: known.cause }, "request failed");
  else logRefusal(log, known.code, fields);
  return { status: problem.status, headers: problemHeaders(problem.code), body: JSON.stringify(problem) };
}
