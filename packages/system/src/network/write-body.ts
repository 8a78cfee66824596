import type { ClientRequest, IncomingMessage } from "node:http";

/** The lowest status of a refusal. */
const REFUSED = 400;

export interface WriteProgress {
  /** Called while the next piece is not ready yet. */
  onWait?(): void;
  /** Called before a piece is written. */
  onWrite?(): void;
  /** Called with all bytes that the connection has taken. */
  onSent?(bytes: number): void;
}

/**
 * Writes a request's body, no faster than the server reads it, and ends the request. A refusal that arrives earlier ends
 * the body. Any other answer may arrive while the body is sent. The connection is closed after the answer.
 * @throws the error of the pieces
 */
export async function writeBody(
  sent: ClientRequest,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { onSent, onWait, onWrite }: WriteProgress = {},
): Promise<void> {
  let isRefused = false;
  // With the `close` of a single request, a server closes the connection after its answer, and what is sent after that
  // destroys an answer that is still on its way. The client closes the connection.
  sent.setHeader("connection", "keep-alive");
  sent.flushHeaders();
  sent.once("response", (answer: IncomingMessage) => {
    isRefused = (answer.statusCode ?? 0) >= REFUSED;
    const { socket } = answer;
    answer.once("close", () => socket.destroy());
  });
  let bytes = 0;
  onWait?.();
  for await (const piece of pieces) {
    if (isRefused || sent.destroyed) return;
    onWrite?.();
    if (!sent.write(piece)) await drained(sent);
    bytes += piece.length;
    onSent?.(bytes);
    onWait?.();
  }
  if (!isRefused && !sent.destroyed) sent.end();
}

/** Resolves when there is room again, or when the connection has closed. */
async function drained(sent: ClientRequest): Promise<void> {
  if (sent.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      sent.off("drain", done).off("close", done);
      resolve();
    };
    sent.on("drain", done).on("close", done);
  });
}
