import type { ApplicationInput } from "../context.ts";

/** Verbs that start by reading the application file that they name. */
const READING = /^(schema (diff|update|check)|service (run|diff|update|check|prune))$/;

/** Commands that call the daemon first, unless their target is hosted. */
const CALLING: ReadonlySet<string> = new Set(["ls", "describe", "columns", "rows", "get", "count"]);

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

/**
 * Guesses whether a command line calls the daemon as soon as it is parsed. The daemon is then looked for while the parser
 * is still being loaded. A wrong guess only costs a request.
 */
export function guessDaemon(argv: readonly string[], application: ApplicationInput | undefined): boolean {
  const [noun = "", verb] = argv;
  if (application !== undefined) return verb !== "check";
  return CALLING.has(noun) && !argv.some((word) => word.startsWith("cloud:") || word === "--help" || word === "-h");
}
