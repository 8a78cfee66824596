/** What is read; undefined when it is not there, or gone by now. Any other error is thrown. `codes` are those that mean it. */
export function readIfExists<Value>(read: () => Value, codes: readonly string[] = ["ENOENT"]): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (codes.includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

/** The same for what is read by a promise. */
export async function awaitIfExists<Value>(
  reading: Promise<Value>,
  codes: readonly string[] = ["ENOENT"],
): Promise<Value | undefined> {
  return await reading.catch((error: NodeJS.ErrnoException) => {
    if (codes.includes(error.code ?? "")) return undefined;
    throw error;
  });
}
