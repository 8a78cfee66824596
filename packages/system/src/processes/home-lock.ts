import { findLockOwner, tryLock } from "./numbered-lock.ts";
import type { ProcessIdentity } from "./process-identity.ts";

/** Result of locking a home. */
export type HomeLock =
  | { readonly outcome: "acquired" }
  | { readonly outcome: "taken"; readonly owner: ProcessIdentity };

/** Tries once to lock the home for one daemon. Creates `folder` when it is missing. The lock ends with the process. */
export function acquireHomeLock(folder: string): HomeLock {
  const result = tryLock(folder, "daemon.");
  return result.outcome === "taken" ? result : { outcome: "acquired" };
}

/** The process that holds the home's lock; undefined when none does. @throws daemon_failed */
export function findHomeOwner(folder: string): ProcessIdentity | undefined {
  return findLockOwner(folder, "daemon.");
}

/**
 * Whether this process still holds the home's lock. The lock disappears with a removed home, and another daemon may
 * lock a new one.
 */
export function ownsHome(folder: string): boolean {
  return findHomeOwner(folder)?.pid === process.pid;
}
