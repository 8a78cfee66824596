import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { appError } from "@appdb/contract/errors";
import type { ArrivingBodies, ArrivingBody } from "@appdb/engine/routes/arriving-bodies";
import { bodyTimedOut } from "./body-stream.ts";
import { decompressedBody, explainUnpacking, stopUnpacking } from "./packed-body.ts";

/** Timeout for a client's whole body. */
const BODY_MS = 120_000;

/** `counted`: the body in `bodies`, until the caller disposes it. */
type Done = (error: Error | null, body?: string | Buffer, counted?: ArrivingBody) => void;

/** Bytes of a large body that are received and dropped, because a client reads the answer only after sending. */
const DROPPED_BYTES = 64_000_000;

/**
 * Reads a request's body: as text, or as bytes when it is not UTF-8, which the route then refuses. Unpacks gzip; the
 * limit applies to the unpacked size. `bodies` limits those that arrive at the same time. A body that arrives in one piece, as nearly all do, is decoded without a copy.
 */
export function readBody(request: IncomingMessage, bodyBytes: number, done: Done, bodies?: ArrivingBodies): void {
  const source = decompressedBody(request);
  const announced = Number(request.headers["content-length"]);
  let refusal = announced > bodyBytes ? tooLarge(bodyBytes) : undefined;
  let text: string | undefined;
  let received = 0;
  let chunks: Buffer[] = [];
  const onData = (chunk: Buffer): void => {
    received += chunk.length;
    refusal ??= received > bodyBytes ? tooLarge(bodyBytes) : refusalOf(arriving, chunk.length);
    if (refusal !== undefined) {
      refuse(refusal);
      return;
    }
    if (chunk.length === announced && source === request) text = decode(chunk);
    // Node reuses the buffer for the next piece.
    if (text === undefined) chunks.push(Buffer.from(chunk));
  };
  const onEnd = (): void => {
    if (refusal !== undefined) settle(refusal);
    else settle(null, text ?? joined(chunks));
  };
  const onError = (error: Error): void => settle(explainUnpacking(error) as Error);
  /** Drops what arrived. The error follows when the client has sent the rest. */
  const refuse = (error: Error): void => {
    refusal = error;
    chunks = [];
    arriving?.[Symbol.dispose]();
    // Unpacking the rest of a small but highly compressed body is not worth the work.
    if (source !== request || received > bodyBytes + DROPPED_BYTES) settle(error);
  };
  const arriving = bodies?.begin((error) => settle(error));
  let isSettled = false;
  const settle = (error: Error | null, body?: string | Buffer): void => {
    if (isSettled) return;
    isSettled = true;
    if (error === null) arriving?.setWaiting(false);
    else arriving?.[Symbol.dispose]();
    source.removeListener("data", onData);
    source.removeListener("end", onEnd);
    if (source === request) source.removeListener("error", onError);
    clearTimeout(timer);
    if (error !== null && source !== request) {
      stopUnpacking(request, source);
      request.resume();
    }
    done(error, body, error === null ? arriving : undefined);
  };
  const timer = setTimeout(() => settle(bodyTimedOut(BODY_MS)), BODY_MS);
  source.on("data", onData);
  source.on("end", onEnd);
  source.on("error", onError);
}

function refusalOf(arriving: ArrivingBody | undefined, bytes: number): Error | undefined {
  try {
    arriving?.add(bytes);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

function joined(chunks: readonly Buffer[]): string | Buffer {
  const bytes = Buffer.concat(chunks);
  return decode(bytes) ?? bytes;
}

/** Invalid UTF-8 decodes to U+FFFD, so only its presence requires the full check. */
function decode(bytes: Buffer): string | undefined {
  const text = bytes.toString("utf8");
  return text.includes("\uFFFD") && !isUtf8(bytes) ? undefined : text;
}

function tooLarge(bodyBytes: number): Error {
  return appError("payload_too_large", {
    detail: `The body is larger than ${bodyBytes} bytes.`,
    hint: "Send less data at once. For many rows, send application/x-ndjson to an insert route: one JSON object per line, without a total limit.",
    meta: { body_bytes: bodyBytes },
  });
}
