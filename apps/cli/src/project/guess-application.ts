import type { ApplicationInput } from "../context.ts";

/** Verbs that read the application file that they name first. */
const READING = /^(schema (diff|update|check)|service (run|diff|update|check|prune))$/;

/**
 * The application that a command line will ask for, guessed before it is parsed: importing it takes longest of all, so it
 * is begun while the parser of the command line is still being loaded. Undefined where the guess could be wrong or the
 * command may not come to read it; a wrong guess would cost time and nothing else.
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
