import { type AppError, appError } from "@appdb/contract/errors";

/** Refusal of invalid HTTP, for callers that only have a connection to answer on. */
export interface BadHttpRefusal {
  readonly status: number;
  readonly reason: string;
  readonly error: AppError;
}

/** Maps an error code of Node's HTTP parser to a refusal. `hint` is the advice for bytes that are not HTTP. */
export function refuseBadHttp(code: string | undefined, hint: string): BadHttpRefusal {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return {
        status: 431,
        reason: "Request Header Fields Too Large",
        error: appError("payload_too_large", {
          detail: "The request's address and headers are larger than 16 KiB.",
          hint: "Send long values in the body, and fewer cookies.",
        }),
      };
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return {
        status: 408,
        reason: "Request Timeout",
        error: appError("request_timeout", {
          detail: "The request's headers did not arrive in time.",
          hint: "Send the request again without pauses.",
        }),
      };
    default:
      return {
        status: 400,
        reason: "Bad Request",
        error: appError("invalid_request", {
          detail: `The request is not valid HTTP${code?.startsWith("HPE_") === true ? ` (${code})` : ""}.`,
          hint,
        }),
      };
  }
}

/** The complete HTTP/1.1 response as bytes. The connection closes after it. */
export function printBadHttp({ status, reason }: BadHttpRefusal, requestId: string, problem: object): string {
  const body = JSON.stringify({ ...problem, status });
  return (
    `HTTP/1.1 ${status} ${reason}\r\nx-request-id: ${requestId}\r\ncontent-type: application/problem+json; charset=utf-8\r\n` +
    `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`
  );
}
