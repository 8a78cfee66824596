import { appError } from "@appdb/contract/errors";

/**
 * Options as bubblewrap reads them from a file: each ended by a null character.
 * @throws pod_failed for an option that has one in it, since what follows would be further options
 */
export function optionsText(options: readonly string[]): string {
  const [broken] = options.flatMap((option, at) => (option.includes("\0") ? [at] : []));
  if (broken === undefined) return options.map((option) => `${option}\0`).join("");
  // not its text: it may be a secret
  const named = options[broken - 2] === "--setenv" ? `The variable ${options[broken - 1]}` : `Option ${broken + 1}`;
  throw appError("pod_failed", {
    detail: `${named} of a sandbox has a null character in it.`,
    hint: "Take the null character out of the value: no program can be given one.",
  });
}

/** An environment as options of bubblewrap, so that it reaches what runs in the sandbox and nothing before it. */
export function environmentOptions(env: Readonly<Record<string, string>>): string[] {
  return ["--clearenv", ...Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value])];
}
