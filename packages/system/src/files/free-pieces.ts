/** Smaller pieces are left to the collector. */
const MIN_BYTES = 16 * 1_024;

/** Frees the memory of pieces that have been written. They are empty afterwards. */
export type FreePieces = (pieces: readonly Uint8Array[]) => void;

/**
 * Makes the function that frees pieces of bodies. V8 counts their memory as old: without it, every few megabytes of
 * uploads lead to a collection of the whole heap, which delays all requests. It leaves memory that a piece shares with
 * others. A closed port drops what is transferred to it.
 */
export function pieceFreer(): FreePieces {
  const { port1: closed } = new MessageChannel();
  closed.close();
  return (pieces) => {
    const buffers = pieces.flatMap(({ buffer, byteLength }) =>
      byteLength >= MIN_BYTES && byteLength === buffer.byteLength && buffer instanceof ArrayBuffer ? [buffer] : [],
    );
    if (buffers.length > 0) closed.postMessage(null, buffers);
  };
}
