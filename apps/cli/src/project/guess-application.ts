import type { ApplicationInput } from "../context.ts";

/** Verbs that start by reading the application file that they name. */
const READING = /^(schema (diff|update|check)|service (run|diff|update|check|prune))$/;

/**
 * Guesses the application of a command line before it is parsed. Importing the application takes longest, so it starts
 * while the command-line parser is still being loaded. Undefined where the guess could be wrong or the application
 * might not be needed. A wrong guess only costs time.
 */
export function guessApplication(argv: readonly string[]): ApplicationInput | undefined {
  const [noun, verb, file = "", target = "", ...rest] = argv;
  if (!READING.test(`${noun} ${verb}`) || !/^[^-].*\.py$/.test(file) || /^(-|cloud:)/.test(target)) return undefined;
  if (rest.some((word) => word === "--help" || word === "-h" || word === "--")) return undefined;
  const at = rest.findIndex((word) => word.startsWith("--python"));
  if (at < 0) return { file, python: undefined };
  const [, inline] = (rest[at] ?? "").split("=", 2);
  const python = inline ?? rest[at + 1];
  return python === undefined || python.startsWith("-") ? undefined : { file, python };
}
