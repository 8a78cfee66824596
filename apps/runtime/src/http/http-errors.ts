import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { AppError, appError, toProblem } from "@appdb/contract/errors";
import type { Logger } from "@appdb/engine/ports";
import { printBadHttp, refuseBadHttp } from "@appdb/http/bad-http";

/** Converts errors of the HTTP server to ours and passes on all others. `url` is the request's. */
export function fromHttpError(error: unknown, url = ""): unknown {
  if (error instanceof AppError || !(error instanceof Error) || !("code" in error)) return error;
  switch (error.code) {
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
    case "FST_ERR_CTP_INVALID_TYPE":
      return unsupportedMediaType(undefined);
    case "FST_ERR_BAD_URL":
      return appError("invalid_request", {
        detail: `The path ${url.slice(0, 200)} contains a % that does not start a UTF-8 character.`,
        hint: "Write % itself as %25, and other characters as their UTF-8 bytes.",
        cause: error,
      });
    case "ECONNRESET":
    case "ERR_STREAM_PREMATURE_CLOSE":
      return appError("invalid_json", {
        detail: "The request ended before its body was complete.",
        hint: "Send the request again.",
        cause: error,
      });
    default:
      return error;
  }
}

export function unsupportedMediaType(contentType: string | undefined): AppError {
  const sent =
    contentType === undefined ? "no content type" : `content type ${JSON.stringify(contentType.slice(0, 100))}`;
  if (contentType?.toLowerCase().startsWith("application/x-www-form-urlencoded") === true) {
    return appError("unsupported_media_type", {
      detail: `The request has ${sent}; routes accept application/json, and forms as multipart/form-data.`,
      hint: 'Send the header content-type: application/json. A route with uploadfile_inputs also takes a form: curl -F field=value, or <form enctype="multipart/form-data">.',
    });
  }
  return appError("unsupported_media_type", {
    detail: `The request has ${sent}; routes accept application/json.`,
    hint: "Send the header content-type: application/json. For many rows, send application/x-ndjson to an insert route. For files, send a form to a route with uploadfile_inputs: curl -F field=@file",
  });
}

export function noWebSockets(): AppError {
  return appError("no_websockets", {
    detail: "The request asks for a WebSocket, but services do not support them.",
    hint: "To receive changes, open a query route as a live query: GET it with the header accept: text/event-stream",
  });
}

export function notFound(path: string, nearest: string | undefined): AppError {
  return appError("not_found", {
    detail: `There is nothing at ${path.slice(0, 200)}.${nearest === undefined ? "" : ` Did you mean ${nearest}?`}`,
    hint: "/openapi.json lists the routes, /docs shows them.",
  });
}

export function methodNotAllowed(method: string, path: string, allowed: readonly string[]): AppError {
  return appError("method_not_allowed", {
    detail: `${path} does not answer ${method}; it answers ${allowed.join(", ")}.`,
    hint: `Use ${allowed[0]}.`,
    meta: { allowed },
  });
}

/** Answers invalid HTTP on the socket, because there is no request to reply to. */
export function answerBadHttp(error: Error & { code?: string }, socket: Socket, log: Logger): void {
  // a client that disconnected: a request that had begun is reported as cancelled
  if (error.code === "ECONNRESET" || error.code === "HPE_INVALID_EOF_STATE" || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = refuseBadHttp(error.code, "Send HTTP/1.1. Services do not support TLS.");
  const id = randomUUID();
  const { code, message: detail } = refusal.error;
  log.info({ req: id, code, status: refusal.status, detail }, "request refused");
  socket.end(printBadHttp(refusal, id, toProblem(refusal.error, id)));
}
