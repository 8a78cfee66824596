import type { Logger } from "@appdb/engine/ports";

/**
 * Takes all steps of a stop, one after the other. One that fails is logged and keeps no later one back: on a full disk, or without
 * PostgreSQL, whatever else was started still ends.
 */
export async function stopEach(log: Logger, steps: Readonly<Record<string, () => unknown>>): Promise<void> {
  for (const [step, stop] of Object.entries(steps)) {
    try {
      await stop();
    } catch (error) {
      log.error({ err: error, step }, "a step of the stop failed");
    }
  }
}
