import { join } from "node:path";
import type { Logger } from "@appdb/engine/ports";
import { findLockOwner } from "@appdb/system/processes/numbered-lock";
import { SERVER_PATHS } from "../config/config.ts";

const LOOK_MS = 2_000;

/**
 * Detects that the home was removed, even if another process uses it since: this process's lock is gone. Otherwise two
 * servers would end each other's pods, and a gateway would never end.
 */
export function watchHome(home: string, lock: string, log: Logger): Disposable & { readonly noticed: Promise<string> } {
  const locks = join(home, SERVER_PATHS.locks);
  let timer: NodeJS.Timeout | undefined;
  let isReported = false;
  const noticed = new Promise<string>((resolve) => {
    timer = setInterval(() => {
      try {
        if (findLockOwner(locks, lock)?.pid !== process.pid) resolve("the home was removed");
        isReported = false;
      } catch (error) {
        // without free file descriptors the check fails, but running requests continue: check again later
        if (!isReported) log.warn({ err: error }, "cannot check whether the home still exists");
        isReported = true;
      }
    }, LOOK_MS);
  });
  return { noticed, [Symbol.dispose]: () => clearInterval(timer) };
}
