/** A requested action and its Idempotency-Key. */
export interface Attempt {
  readonly input: string;
  readonly key: string;
}

/**
 * The attempt to send now. The same input is the same attempt until it succeeds, because its answer may have been lost.
 */
export function nextAttempt(last: Attempt | undefined, input: unknown): Attempt {
  const text = JSON.stringify([input]);
  return last?.input === text ? last : { input: text, key: randomKey() };
}

/** Pages over plain HTTP from another machine have no `crypto.randomUUID`. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
