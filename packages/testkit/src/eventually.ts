/** Between two looks at first; later a tenth of the time that has passed, since what takes long is not missed by some milliseconds. */
const FIRST_INTERVAL_MS = 20;
const LONGEST_INTERVAL_MS = 120;

/**
 * Repeats `check` until it no longer throws, and gives its result. After `timeout_ms` (5 s) it throws what `check` threw last.
 * Looks take from what they wait for: what is there for a moment only is seen with an `interval_ms` of its own.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  options: { timeout_ms?: number; interval_ms?: number } = {},
): Promise<T> {
  const begun = Date.now();
  const deadline = begun + (options.timeout_ms ?? 5_000);
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() >= deadline) throw error;
    }
    const waitMs = Math.max(FIRST_INTERVAL_MS, Math.min((Date.now() - begun) / 10, LONGEST_INTERVAL_MS));
    await new Promise((resolve) => setTimeout(resolve, options.interval_ms ?? waitMs));
  }
}
