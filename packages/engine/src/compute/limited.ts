/** The function with at most `max` calls at once; others wait in order. */
export function limited<A extends unknown[], T>(
  run: (...args: A) => Promise<T>,
  max: number,
): (...args: A) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (...args) => {
    if (running >= max) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await run(...args);
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
