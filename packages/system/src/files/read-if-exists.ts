/**
 * Reads a value. Undefined when it does not exist or has disappeared; other errors are thrown. `codes` are the error
 * codes that mean "missing".
 */
export function readIfExists<Value>(read: () => Value, codes: readonly string[] = ["ENOENT"]): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (codes.includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

/** The same for an asynchronous read. */
export async function awaitIfExists<Value>(
  reading: Promise<Value>,
  codes: readonly string[] = ["ENOENT"],
): Promise<Value | undefined> {
  return await reading.catch((error: NodeJS.ErrnoException) => {
    if (codes.includes(error.code ?? "")) return undefined;
    throw error;
  });
}
