export interface AsyncSignal {
  readonly ring: () => void;
  readonly wait: (ms: number) => Promise<void>;
}

/** Waits for a signal or a timeout, whichever is first. A signal without a waiter is kept for the next one. */
export function createAsyncSignal(): AsyncSignal {
  let rung = false;
  let wake: (() => void) | undefined;
  return {
    ring: () => {
      rung = true;
      wake?.();
    },
    wait: async (ms) => {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      wake = undefined;
      rung = false;
    },
  };
}
