import { findLockOwner, tryLock } from "./numbered-lock.ts";
import type { ProcessIdentity } from "./process-identity.ts";

/** Who has the home. */
export type HomeLock =
  | { readonly outcome: "acquired" }
  | { readonly outcome: "taken"; readonly owner: ProcessIdentity };

/** Tries to take the home once, for one daemon. `folder` is made when it is missing. The lock ends with the process. */
export function acquireHomeLock(folder: string): HomeLock {
  const result = tryLock(folder, "daemon.");
  return result.outcome === "taken" ? result : { outcome: "acquired" };
}

/** Whether this process still has the home: its lock goes with a home that is removed, and another daemon may take a new one. */
export function ownsHome(folder: string): boolean {
  return findLockOwner(folder, "daemon.")?.pid === process.pid;
}
