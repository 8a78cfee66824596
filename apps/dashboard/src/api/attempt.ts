/** One thing that somebody wants done, and the Idempotency-Key it is asked with. */
export interface Attempt {
  readonly input: string;
  readonly key: string;
}

/** The attempt to send now. The same input again, before the first was answered well, is the same attempt: its answer may
 *  have been lost on the way, and what was done is not to be done twice. */
export function nextAttempt(last: Attempt | undefined, input: unknown): Attempt {
  const text = JSON.stringify([input]);
  return last?.input === text ? last : { input: text, key: randomKey() };
}

/** `crypto.randomUUID` is missing from pages that come by plain HTTP from another machine. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
