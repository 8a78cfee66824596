/** Closes an exhaustive switch: the compiler refuses a case that was forgotten, and so does the program. */
export function assertNever(value: never): never {
  throw new Error(`Unexpected value: ${JSON.stringify(value)}`);
}
