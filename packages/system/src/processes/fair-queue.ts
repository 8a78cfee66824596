/** Concurrency limits for jobs of several owners. */
export interface FairQueueLimits {
  /** Maximum number of concurrent jobs of all owners. */
  readonly at_once: number;
  /** Maximum number of concurrent jobs of one owner. */
  readonly of_one: number;
}

/** Serves owners in turns, so that many waiting jobs of one owner do not delay others. */
export interface FairQueue {
  /** Runs `work` once the owner has a slot. Waiting owners get slots in turns; each owner's jobs run in order. */
  run<T>(owner: string, work: () => Promise<T>): Promise<T>;
  /** Number of the owner's waiting jobs. */
  waiting(owner: string): number;
}

export function createFairQueue({ at_once: atOnce, of_one: ofOne }: FairQueueLimits): FairQueue {
  const running = new Map<string, number>();
  // the owner served last moves to the end
  const waiting = new Map<string, (() => void)[]>();
  let total = 0;

  function hasPlace(owner: string): boolean {
    return total < atOnce && (running.get(owner) ?? 0) < ofOne;
  }

  function take(owner: string): void {
    total += 1;
    running.set(owner, (running.get(owner) ?? 0) + 1);
  }

  function leave(owner: string): void {
    total -= 1;
    const remaining = (running.get(owner) ?? 1) - 1;
    if (remaining === 0) running.delete(owner);
    else running.set(owner, remaining);
    serveNext();
  }

  function serveNext(): void {
    for (const [owner, works] of waiting) {
      if (!hasPlace(owner)) continue;
      const begin = works.shift();
      waiting.delete(owner);
      if (works.length > 0) waiting.set(owner, works);
      take(owner);
      begin?.();
      return;
    }
  }

  return {
    async run(owner, work) {
      if (hasPlace(owner)) take(owner);
      else {
        await new Promise<void>((begin) => {
          const works = waiting.get(owner) ?? [];
          works.push(begin);
          waiting.set(owner, works);
        });
      }
      try {
        return await work();
      } finally {
        leave(owner);
      }
    },
    waiting: (owner) => waiting.get(owner)?.length ?? 0,
  };
}
