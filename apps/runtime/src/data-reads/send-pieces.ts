import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { appError } from "@appdb/contract/errors";
import { STALLED_MS } from "../http/send-answer.ts";

/** Bytes that wait for the client while the next ones are read. */
const MAX_WAITING = 512 * 1024;

/**
 * Sends pieces of a response as fast as its client takes them. `begin` sends its head before the first one.
 * @throws interrupted when the client disconnects, or takes nothing for ten minutes
 */
export function sendPieces(
  response: ServerResponse,
  signal: AbortSignal,
  begin: () => void,
): (piece: Uint8Array) => Promise<void> {
  let hasBegun = false;
  return async (piece) => {
    if (signal.aborted) throw left();
    if (!hasBegun) begin();
    hasBegun = true;
    response.write(piece);
    if (response.writableLength <= MAX_WAITING) return;
    try {
      await once(response, "drain", { signal: AbortSignal.any([signal, AbortSignal.timeout(STALLED_MS)]) });
    } catch (error) {
      throw left(error);
    }
  };
}

function left(cause?: unknown): Error {
  return appError("interrupted", { detail: "The client takes no more of the response.", cause });
}
