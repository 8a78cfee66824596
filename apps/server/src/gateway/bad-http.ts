import { randomUUID } from "node:crypto";
import type { EventEmitter } from "node:events";
import type { Duplex } from "node:stream";
import { appError, toProblem } from "@appdb/contract/errors";
import { REQUEST_ID } from "./exchange.ts";

/** Answers bytes that are no HTTP: there is no request to reply to, only a connection, which ends. */
export function answerBadHttp(server: EventEmitter, refused: (status: number) => void): void {
  server.on("clientError", (error: Error & { code?: string }, connection: Duplex) => {
    if (error.code === "ECONNRESET" || !connection.writable) {
      connection.destroy();
      return;
    }
    const [status, reason, refusal] = refusalOf(error.code);
    const id = randomUUID();
    const body = JSON.stringify({ ...toProblem(refusal, id), status });
    refused(status);
    connection.end(
      `HTTP/1.1 ${status} ${reason}\r\n${REQUEST_ID}: ${id}\r\ncontent-type: application/problem+json; charset=utf-8\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
      () => connection.destroy(),
    );
  });
}

function refusalOf(code: string | undefined): [status: number, reason: string, error: Error] {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return [
        431,
        "Request Header Fields Too Large",
        appError("payload_too_large", {
          detail: "The request's address and headers are larger than 16 KiB.",
          hint: "Send long values in the body, and fewer cookies.",
        }),
      ];
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [
        408,
        "Request Timeout",
        appError("request_timeout", {
          detail: "The request's headers did not come in time.",
          hint: "Send the request again, without a pause in it.",
        }),
      ];
    default:
      return [
        400,
        "Bad Request",
        appError("invalid_request", {
          detail: `The request is not valid HTTP${code?.startsWith("HPE_") === true ? ` (${code})` : ""}.`,
          hint: "Send HTTP/1.1 with one length of the body.",
        }),
      ];
  }
}
