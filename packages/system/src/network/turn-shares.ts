/** Bytes of bodies that one owner may move in one turn of the event loop. The rest waits for the next turn. */
const TURN_BYTES = 1024 ** 2;
/** What a resumed stream moves before the check. It is counted when the stream is resumed. */
const PIECE_BYTES = 65_536;

/** Divides the event loop's turns: an owner with hundreds of bodies delays others by one share at most. */
export interface TurnShares {
  /** Counts bytes of an owner's stream. False if its share of this turn is used up. */
  count(owner: string, bytes: number): boolean;
  /** Calls back in a turn in which the owner has a share left, in order. */
  onNextTurn(owner: string, resume: () => void): void;
}

interface Share {
  bytes: number;
  readonly waiting: (() => void)[];
}

export function createTurnShares(turnBytes = TURN_BYTES): TurnShares {
  const owners = new Map<string, Share>();
  let isPlanned = false;
  const shareOf = (owner: string): Share => {
    const share = owners.get(owner) ?? { bytes: 0, waiting: [] };
    owners.set(owner, share);
    if (!isPlanned) {
      isPlanned = true;
      setImmediate(begin);
    }
    return share;
  };
  const begin = () => {
    isPlanned = false;
    const all = [...owners];
    owners.clear();
    for (const [owner, { waiting }] of all) {
      if (waiting.length === 0) continue;
      const going = waiting.splice(0, Math.max(1, Math.floor(turnBytes / PIECE_BYTES)));
      const share = shareOf(owner);
      share.bytes += (going.length - 1) * PIECE_BYTES;
      share.waiting.push(...waiting);
      for (const resume of going) resume();
    }
  };
  return {
    count(owner, bytes) {
      const share = shareOf(owner);
      share.bytes += bytes;
      return share.bytes < turnBytes;
    },
    onNextTurn: (owner, resume) => void shareOf(owner).waiting.push(resume),
  };
}
