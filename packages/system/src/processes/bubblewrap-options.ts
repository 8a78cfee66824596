import { appError } from "@appdb/contract/errors";

/**
 * Options in bubblewrap's file format, each ended by a null character.
 * @throws pod_failed for an option with a null character, because the rest would become further options
 */
export function optionsText(options: readonly string[]): string {
  const [broken] = options.flatMap((option, at) => (option.includes("\0") ? [at] : []));
  if (broken === undefined) return options.map((option) => `${option}\0`).join("");
  // without the value, which may be a secret
  const named = options[broken - 2] === "--setenv" ? `The variable ${options[broken - 1]}` : `Option ${broken + 1}`;
  throw appError("pod_failed", {
    detail: `${named} of a sandbox contains a null character.`,
    hint: "Remove the null character from the value. Programs cannot receive one.",
  });
}

/** bubblewrap options that set an environment only for the program in the sandbox, not for earlier steps. */
export function environmentOptions(env: Readonly<Record<string, string>>): string[] {
  return ["--clearenv", ...Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value])];
}
