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
 * the body. Any other answer may arrive while the body is sent.
 * @throws the error of the pieces
 */
export async function writeBody(
  sent: ClientRequest,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { onSent, onWait, onWrite }: WriteProgress = {},
): Promise<void> {
  let isRefused = false;
  sent.flushHeaders();
  sent.once("response", (answer: IncomingMessage) => {
    isRefused = (answer.statusCode ?? 0) >= REFUSED;
    answer.once("close", () => {
      // the rest of a body, which the server does not read, would keep the connection open
      if (!sent.writableEnded) sent.destroy();
    });
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
