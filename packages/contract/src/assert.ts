/** Closes an exhaustive switch: the compiler refuses a missing case, and so does the program. */
export function assertNever(value: never): never {
  throw new Error(`Unexpected value: ${JSON.stringify(value)}`);
}
