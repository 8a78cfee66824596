import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import type { Logger } from "@appdb/engine/ports";

const BEAT_MS = 1_000;
const UNWATCHED = "the heartbeat cannot be written: a hang of this server will not be detected";

/**
 * Writes a number every second while the event loop runs. `deploy/keep-server.sh` kills a server whose number stays the
 * same. It ignores an empty file. The file is opened once, so that later beats need no free descriptor.
 */
export function startHeartbeat(path: string | undefined, log: Logger, beatMs = BEAT_MS): Disposable {
  if (path === undefined) return { [Symbol.dispose]: () => undefined };
  const file = openBeat(path, log);
  if (file === undefined) return { [Symbol.dispose]: () => undefined };
  let beats = 0;
  let isReported = false;
  const beat = () => {
    beats += 1;
    try {
      writeSync(file, `${beats}\n`, 0);
    } catch (error) {
      if (!isReported) log.warn({ err: error }, UNWATCHED);
      isReported = true;
      // truncating needs no disk space; an old number would look like a hang
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

/** Undefined without space or a folder for the file: the server then runs unwatched. */
function openBeat(path: string, log: Logger): number | undefined {
  try {
    return openSync(path, "w", 0o600);
  } catch (error) {
    log.warn({ err: error }, UNWATCHED);
    return undefined;
  }
}
