/** Initial interval. Later it is a tenth of the elapsed time, because some milliseconds do not matter for a long
 *  wait. */
const FIRST_INTERVAL_MS = 20;
const LONGEST_INTERVAL_MS = 120;
/** A check by a command takes most of a processor: it runs for a third of the time at most. */
const PAUSES_PER_CHECK = 2;
const LONGEST_PAUSE_MS = 2_000;
/** For a machine that runs every test at once. Only a test that fails takes so long. */
const TIMEOUT_MS = 20_000;

/**
 * Repeats `check` until it no longer throws, and returns its result. After `timeout_ms` (20 s) it throws the last error
 * of `check`. Checks slow down what they wait for. Use a short `interval_ms` for a state that exists only briefly.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  options: { timeout_ms?: number; interval_ms?: number } = {},
): Promise<T> {
  const startedAt = Date.now();
  const deadline = startedAt + (options.timeout_ms ?? TIMEOUT_MS);
  for (;;) {
    const checkedAt = Date.now();
    try {
      return await check();
    } catch (error) {
      if (Date.now() >= deadline) throw error;
    }
    const pauseMs = Math.min(PAUSES_PER_CHECK * (Date.now() - checkedAt), LONGEST_PAUSE_MS);
    const shortMs = Math.min((Date.now() - startedAt) / 10, LONGEST_INTERVAL_MS);
    const waitMs = Math.max(FIRST_INTERVAL_MS, shortMs, pauseMs);
    await new Promise((resolve) => setTimeout(resolve, options.interval_ms ?? waitMs));
  }
}
