import type { Logger } from "@appdb/engine/ports";

/**
 * Runs the steps of a stop in order. A failed step is logged and does not prevent later ones, for example on a full
 * disk or without PostgreSQL.
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
