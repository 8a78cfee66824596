/** Waits for work up to a timeout. Returns whether the work ended in time; errors before the timeout are thrown. */
export async function withinTime(work: Promise<unknown>, maxMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), maxMs);
  });
  try {
    return await Promise.race([work.then(() => true), over]);
  } finally {
    clearTimeout(timer);
  }
}
