import type { IncomingMessage } from "node:http";

/** Bytes of an unread body that are received and dropped, because a client reads the answer only after sending. */
const DROPPED_BYTES = 64_000_000;
const DROPPING_MS = 30_000;

/**
 * Receives the rest of a request's body and drops it, so that the client gets the answer and the connection serves the
 * next request. Closes the connection after `ms`, or when too much is left. Listeners of the body's pieces are the
 * caller's to remove. The answer must not ask to close the connection: Node.js would do so at its end.
 */
export function dropBody(request: IncomingMessage, ms = DROPPING_MS): void {
  if (request.readableEnded || request.destroyed) return;
  const timer = setTimeout(() => request.socket.destroy(), ms);
  const stop = () => clearTimeout(timer);
  let bytes = 0;
  request.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > DROPPED_BYTES) request.socket.destroy();
  });
  request.once("end", stop).once("close", stop);
  request.resume();
}
