import type { ClientRequest, IncomingMessage } from "node:http";

export interface WriteProgress {
  /** Called while the next piece is not ready yet. */
  onWait?(): void;
  /** Called before a piece is written. */
  onWrite?(): void;
  /** Called with all bytes that the connection has taken. */
  onSent?(bytes: number): void;
}

/**
 * Writes a request's body, no faster than the server reads it, and ends the request. An answer that arrives earlier
 * ends the body.
 * @throws the error of the pieces
 */
export async function writeBody(
  sent: ClientRequest,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { onSent, onWait, onWrite }: WriteProgress = {},
): Promise<void> {
  let isAnswered = false;
  sent.once("response", (answer: IncomingMessage) => {
    isAnswered = true;
    answer.once("close", () => {
      // the rest of a body, which the server does not read, would keep the connection open
      if (!sent.writableEnded) sent.destroy();
    });
  });
  let bytes = 0;
  onWait?.();
  for await (const piece of pieces) {
    if (isAnswered || sent.destroyed) return;
    onWrite?.();
    if (!sent.write(piece)) await drained(sent);
    bytes += piece.length;
    onSent?.(bytes);
    onWait?.();
  }
  if (!isAnswered && !sent.destroyed) sent.end();
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
