/** Asks people to confirm their identity for an action that needs a recent proof. One question is open at a time. */
export interface Confirmation {
  /** Resolves with whether the person confirmed. */
  ask(): Promise<boolean>;
  answer(isConfirmed: boolean): void;
  isOpen(): boolean;
  subscribe(listener: () => void): () => void;
}

export function createConfirmation(): Confirmation {
  const listeners = new Set<() => void>();
  let open: { readonly promise: Promise<boolean>; readonly resolve: (isConfirmed: boolean) => void } | undefined;
  const tell = () => {
    for (const listener of listeners) listener();
  };
  return {
    ask() {
      if (open === undefined) {
        let resolve: (isConfirmed: boolean) => void = () => undefined;
        const promise = new Promise<boolean>((done) => {
          resolve = done;
        });
        open = { promise, resolve };
        tell();
      }
      return open.promise;
    },
    answer(isConfirmed) {
      open?.resolve(isConfirmed);
      open = undefined;
      tell();
    },
    isOpen: () => open !== undefined,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
