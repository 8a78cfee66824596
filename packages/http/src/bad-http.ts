import { type AppError, appError } from "@appdb/contract/errors";

/** What is said of bytes that are no request, for whoever has only a connection to say it on. */
export interface BadHttpRefusal {
  readonly status: number;
  readonly reason: string;
  readonly error: AppError;
}

/** How Node's parser names what it refused, turned into our refusal of it; `hint` is what to do about bytes that are no HTTP. */
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
          detail: "The request's headers did not come in time.",
          hint: "Send the request again, without a pause in it.",
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

/** The whole answer as bytes of HTTP/1.1, after which the connection ends. */
export function printBadHttp({ status, reason }: BadHttpRefusal, requestId: string, problem: object): string {
  const body = JSON.stringify({ ...problem, status });
  return (
    `HTTP/1.1 ${status} ${reason}\r\nx-request-id: ${requestId}\r\ncontent-type: application/problem+json; charset=utf-8\r\n` +
    `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`
  );
}
