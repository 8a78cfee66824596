/** Repeats `check` until it no longer throws, and gives its result. After `timeout_ms` (5 s) it throws what `check` threw last. */
export async function eventually<T>(
  check: () => T | Promise<T>,
  options: { timeout_ms?: number; interval_ms?: number } = {},
): Promise<T> {
  const deadline = Date.now() + (options.timeout_ms ?? 5_000);
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() >= deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, options.interval_ms ?? 20));
  }
}
