import type { Readable, Writable } from "node:stream";

/** Where the bytes are counted that wait for a slow reader. */
export interface Holding {
  take(bytes: number): boolean;
  give(bytes: number): void;
}

/** The owner's part of the event loop's turns. */
export interface LoopShare {
  /** False when what was brought in this turn is enough. */
  count(bytes: number): boolean;
  whenNext(goOn: () => void): void;
}

export interface PumpInput {
  readonly from: Readable;
  readonly to: Pick<Writable, "write" | "writableLength" | "destroyed" | "on" | "off">;
  readonly holding: Holding;
  readonly turns: LoopShare;
  /** There is no room for what waits; the pump has stopped. */
  refused(): void;
}

/**
 * Writes what is read, at the pace of the slower side, and never more than both streams keep by themselves. While the reader has not taken
 * what was written, those bytes count. Returns what stops it; after that nothing counts.
 */
export function pump({ from, to, holding, refused, turns }: PumpInput): () => void {
  let held = 0;
  let isStopped = false;
  let isWaiting = false;
  const waitForTurn = () => {
    isWaiting = true;
    from.pause();
    turns.whenNext(() => {
      isWaiting = false;
      if (!isStopped && held === 0) from.resume();
    });
  };
  const letGo = () => {
    holding.give(held);
    held = 0;
  };
  const onData = (piece: Buffer) => {
    const mayGoOn = turns.count(piece.length);
    if (to.destroyed) return;
    if (to.write(piece)) {
      if (!mayGoOn && !isWaiting) waitForTurn();
      return;
    }
    from.pause();
    if (held > 0) return;
    // a paused stream fills up to its mark
    const bytes = to.writableLength + from.readableHighWaterMark;
    if (holding.take(bytes)) {
      held = bytes;
      return;
    }
    stop();
    refused();
  };
  const onDrain = () => {
    letGo();
    if (!isWaiting) from.resume();
  };
  const stop = () => {
    isStopped = true;
    from.off("data", onData);
    to.off("drain", onDrain);
    letGo();
  };
  // it comes where a client leaves between two pieces, and `close` follows it
  to.on("error", NOTHING);
  to.on("drain", onDrain);
  from.on("data", onData);
  return stop;
}

const NOTHING = () => undefined;
