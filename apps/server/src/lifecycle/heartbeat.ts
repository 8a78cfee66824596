import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import type { Logger } from "@appdb/engine/ports";

const BEAT_MS = 1_000;
const UNWATCHED = "the heartbeat cannot be written: a hang of this server is not noticed";

/**
 * Writes a number that grows each second while the event loop runs, for `deploy/keep-server.sh`, which kills a server whose number stays. An
 * empty file says nothing: the keeper then counts nothing. The file is opened once, so that a beat needs no free descriptor.
 */
export function keepBeating(path: string | undefined, log: Logger, beatMs = BEAT_MS): Disposable {
  if (path === undefined) return { [Symbol.dispose]: () => undefined };
  const file = openBeat(path, log);
  if (file === undefined) return { [Symbol.dispose]: () => undefined };
  let beats = 0;
  let isTold = false;
  const beat = () => {
    beats += 1;
    try {
      writeSync(file, `${beats}\n`, 0);
    } catch (error) {
      if (!isTold) log.warn({ err: error }, UNWATCHED);
      isTold = true;
      // shrinking needs no room on the disk; a number that stays would say that the server hangs
      ftruncateSync(file, 0);
    }
  };
  beat();
  const timer = setInterval(beat, beatMs);
  timer.unref();
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      ftruncateSync(file, 0);
      closeSync(file);
    },
  };
}

/** Undefined where there is no room or no folder for it: a server that runs unwatched is better than none. */
function openBeat(path: string, log: Logger): number | undefined {
  try {
    return openSync(path, "w", 0o600);
  } catch (error) {
    log.warn({ err: error }, UNWATCHED);
    return undefined;
  }
}
