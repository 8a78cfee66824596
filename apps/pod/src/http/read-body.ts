import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { appError } from "@appdb/contract/errors";
import { timedOut } from "./body-stream.ts";

/** A client has this long to send its whole body. */
const BODY_MS = 120_000;

type Done = (error: Error | null, body?: string | Buffer) => void;

/** So much of a body that is too large is still taken and dropped: a client that writes reads no answer before it is through. */
const DROPPED_BYTES = 64_000_000;

/**
 * Reads a request's body: its text, or its bytes when they are no UTF-8, which the route then refuses in its own words.
 * A body that comes in one piece, as nearly all do, is decoded where it lies, without a copy.
 */
export function readBody(request: IncomingMessage, body_bytes: number, done: Done): void {
  const announced = Number(request.headers["content-length"]);
  let is_too_large = announced > body_bytes;
  let text: string | undefined;
  let received = 0;
  let chunks: Buffer[] = [];
  const onData = (chunk: Buffer): void => {
    received += chunk.length;
    if (received > body_bytes || is_too_large) {
      is_too_large = true;
      chunks = [];
      if (received > body_bytes + DROPPED_BYTES) settle(tooLarge(body_bytes));
      return;
    }
    if (chunk.length === announced) text = decode(chunk);
    // What Node hands over is only lent until the next piece.
    if (text === undefined) chunks.push(Buffer.from(chunk));
  };
  const onEnd = (): void => {
    if (is_too_large) settle(tooLarge(body_bytes));
    else settle(null, text ?? joined(chunks));
  };
  const onError = (error: Error): void => settle(error);
  const settle = (error: Error | null, body?: string | Buffer): void => {
    request.removeListener("data", onData);
    request.removeListener("end", onEnd);
    request.removeListener("error", onError);
    clearTimeout(timer);
    done(error, body);
  };
  const timer = setTimeout(() => settle(timedOut(BODY_MS)), BODY_MS);
  request.on("data", onData);
  request.on("end", onEnd);
  request.on("error", onError);
}

function joined(chunks: readonly Buffer[]): string | Buffer {
  const bytes = Buffer.concat(chunks);
  return decode(bytes) ?? bytes;
}

/** Bytes that are no UTF-8 always decode to U+FFFD, so only its presence asks for the second look. */
function decode(bytes: Buffer): string | undefined {
  const text = bytes.toString("utf8");
  return text.includes("\uFFFD") && !isUtf8(bytes) ? undefined : text;
}

function tooLarge(body_bytes: number): Error {
  return appError("payload_too_large", {
    detail: `The body is larger than ${body_bytes} bytes.`,
    hint: "Send a smaller body.",
    meta: { body_bytes },
  });
}
