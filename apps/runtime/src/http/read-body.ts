import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { appError } from "@appdb/contract/errors";
import { bodyTimedOut } from "./body-stream.ts";
import { explainUnpacking, stopUnpacking, unpackedBody } from "./packed-body.ts";

/** A client has this long to send its whole body. */
const BODY_MS = 120_000;

type Done = (error: Error | null, body?: string | Buffer) => void;

/** So much of a body that is too large is still taken and dropped: a client that writes reads no answer before it is through. */
const DROPPED_BYTES = 64_000_000;

/**
 * Reads a request's body: its text, or its bytes when they are no UTF-8, which the route then refuses in its own words.
 * What is packed by gzip is unpacked; the limit is for what comes out.
 * A body that comes in one piece, as nearly all do, is decoded where it lies, without a copy.
 */
export function readBody(request: IncomingMessage, bodyBytes: number, done: Done): void {
  const source = unpackedBody(request);
  const announced = Number(request.headers["content-length"]);
  let isTooLarge = announced > bodyBytes;
  let text: string | undefined;
  let received = 0;
  let chunks: Buffer[] = [];
  const onData = (chunk: Buffer): void => {
    received += chunk.length;
    if (received > bodyBytes || isTooLarge) {
      isTooLarge = true;
      chunks = [];
      // What a few bytes unpack to is not worth the work.
      if (source !== request || received > bodyBytes + DROPPED_BYTES) settle(tooLarge(bodyBytes));
      return;
    }
    if (chunk.length === announced && source === request) text = decode(chunk);
    // What Node hands over is only lent until the next piece.
    if (text === undefined) chunks.push(Buffer.from(chunk));
  };
  const onEnd = (): void => {
    if (isTooLarge) settle(tooLarge(bodyBytes));
    else settle(null, text ?? joined(chunks));
  };
  const onError = (error: Error): void => settle(explainUnpacking(error) as Error);
  let isSettled = false;
  const settle = (error: Error | null, body?: string | Buffer): void => {
    if (isSettled) return;
    isSettled = true;
    source.removeListener("data", onData);
    source.removeListener("end", onEnd);
    if (source === request) source.removeListener("error", onError);
    clearTimeout(timer);
    if (error !== null && source !== request) {
      stopUnpacking(request, source);
      request.resume();
    }
    done(error, body);
  };
  const timer = setTimeout(() => settle(bodyTimedOut(BODY_MS)), BODY_MS);
  source.on("data", onData);
  source.on("end", onEnd);
  source.on("error", onError);
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

function tooLarge(bodyBytes: number): Error {
  return appError("payload_too_large", {
    detail: `The body is larger than ${bodyBytes} bytes.`,
    hint: "Send less at once. Many rows go to an insert route as application/x-ndjson, one JSON object a line, of any length in all.",
    meta: { body_bytes: bodyBytes },
  });
}
