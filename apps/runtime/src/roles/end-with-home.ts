import { mkdirSync, type Stats, statSync } from "node:fs";
import type { Logger } from "@appdb/engine/ports";

const LOOK_MS = 5_000;
/** Time for the pod's shutdown. PostgreSQL can no longer write. */
const END_MS = 20_000;

export interface EndWithHomeInput {
  /** A folder of the home that exists while the pod is wanted; created when it is missing. */
  readonly folder: string;
  readonly log: Logger;
  /** Asks the pod to end. */
  readonly end: () => void;
  readonly look_ms?: number;
}

/**
 * Ends a pod whose home was removed. Pods outlive a killed server so that the next one takes them over, but without a
 * home there is no next server. In a sandbox the folder is a mount, which stays when the folder is removed; its link
 * count is then zero.
 */
export function endWithHome({ end, folder, log, look_ms: lookMs = LOOK_MS }: EndWithHomeInput): Disposable {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const first = findFolder(folder);
  const timer = setInterval(() => {
    const now = findFolder(folder);
    // an unreadable folder proves nothing; the next check may
    if (now === "unknown" || first === "unknown" || isSame(first, now)) return;
    clearInterval(timer);
    log.error({}, "the home of the pod is gone: the pod ends");
    setTimeout(() => process.exit(1), END_MS).unref();
    end();
  }, lookMs);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Undefined when the folder has no name any more. */
function findFolder(path: string): Stats | undefined | "unknown" {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    return found === undefined || found.nlink === 0 ? undefined : found;
  } catch {
    return "unknown";
  }
}

function isSame(one: Stats | undefined, other: Stats | undefined): boolean {
  return one !== undefined && other !== undefined && one.ino === other.ino && one.dev === other.dev;
}
