import type { Readable, Writable } from "node:stream";

/** Counts bytes that wait for a slow reader. */
export interface Holding {
  take(bytes: number): boolean;
  give(bytes: number): void;
}

/** The owner's share of each turn of the event loop. */
export interface LoopShare {
  /** False when this turn's share is used up. */
  count(bytes: number): boolean;
  onNextTurn(resume: () => void): void;
}

export interface PumpInput {
  readonly from: Readable;
  readonly to: Pick<Writable, "write" | "writableLength" | "destroyed" | "on" | "off">;
  readonly holding: Holding;
  readonly turns: LoopShare;
  /** Called after the pump stopped because the budget is full. */
  refused(): void;
}

/**
 * Writes what is read, at the pace of the slower side, buffering no more than both streams do themselves. Counts unread
 * bytes. Returns a function that stops the pump and its count.
 */
export function pump({ from, to, holding, refused, turns }: PumpInput): () => void {
  let bufferedBytes = 0;
  let isStopped = false;
  let isWaiting = false;
  const waitForTurn = () => {
    isWaiting = true;
    from.pause();
    turns.onNextTurn(() => {
      isWaiting = false;
      if (!isStopped && bufferedBytes === 0) from.resume();
    });
  };
  const letGo = () => {
    holding.give(bufferedBytes);
    bufferedBytes = 0;
  };
  const onData = (piece: Buffer) => {
    const mayGoOn = turns.count(piece.length);
    if (to.destroyed) return;
    if (to.write(piece)) {
      if (!mayGoOn && !isWaiting) waitForTurn();
      return;
    }
    from.pause();
    if (bufferedBytes > 0) return;
    // a paused stream fills up to its high-water mark
    const bytes = to.writableLength + from.readableHighWaterMark;
    if (holding.take(bytes)) {
      bufferedBytes = bytes;
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
  // emitted if a client disconnects between two pieces; `close` follows
  to.on("error", NOTHING);
  to.on("drain", onDrain);
  from.on("data", onData);
  return stop;
}

const NOTHING = () => undefined;
