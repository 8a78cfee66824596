/** Bytes of bodies that one owner has moved in one turn of the event loop; more wait for the next turn. */
const TURN_BYTES = 1024 ** 2;
/** What a stream that goes on brings at least before it is asked again. */
const PIECE_BYTES = 65_536;

/** Shares the event loop's turns: an owner with hundreds of bodies at once holds up nobody else for longer than one share. */
export interface TurnShares {
  /** Counts bytes that an owner's stream brought. False when its share of this turn is used up. */
  count(owner: string, bytes: number): boolean;
  /** Calls back in a turn in which the owner has a share left. Streams of one owner go on in order. */
  whenNext(owner: string, goOn: () => void): void;
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
      if (waiting.length > 0) shareOf(owner).waiting.push(...waiting);
      for (const goOn of going) goOn();
    }
  };
  return {
    count(owner, bytes) {
      const share = shareOf(owner);
      share.bytes += bytes;
      return share.bytes < turnBytes;
    },
    whenNext: (owner, goOn) => void shareOf(owner).waiting.push(goOn),
  };
}
