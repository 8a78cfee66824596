import { join } from "node:path";
import type { Logger } from "@appdb/engine/ports";
import { findLockOwner } from "@appdb/system/processes/numbered-lock";
import { SERVER_PATHS } from "../config/config.ts";

const LOOK_MS = 2_000;

/**
 * Notices that the home was removed, or taken by another process after that: the lock of this process is gone with it, whatever is written there
 * still. Two servers would end each other's pods, and of a gateway nobody would be left to end it.
 */
export function watchHome(home: string, lock: string, log: Logger): Disposable & { readonly noticed: Promise<string> } {
  const locks = join(home, SERVER_PATHS.locks);
  let timer: NodeJS.Timeout | undefined;
  let isTold = false;
  const noticed = new Promise<string>((resolve) => {
    timer = setInterval(() => {
      try {
        if (findLockOwner(locks, lock)?.pid !== process.pid) resolve("its home is gone");
        isTold = false;
      } catch (error) {
        // without a free file nothing can be read, and the requests that are under way go on: the next look may tell
        if (!isTold) log.warn({ err: error }, "this process cannot look whether its home is still there");
        isTold = true;
      }
    }, LOOK_MS);
  });
  return { noticed, [Symbol.dispose]: () => clearInterval(timer) };
}
