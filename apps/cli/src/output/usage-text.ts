import { appError, type Problem, toProblem } from "@appdb/contract/errors";
import {
  AliasNotFoundError,
  type ApplicationText,
  ArgumentParseError,
  EnumValidationError,
  FlagNotFoundError,
  text_en,
  UnexpectedFlagError,
  UnexpectedPositionalError,
  UnsatisfiedFlagError,
  UnsatisfiedPositionalError,
} from "@stricli/core";

/** Words of similar tools, which mean commands of `media`. */
const OTHER_WORDS: ReadonlyMap<string, string> = new Map([
  ...["put", "get", "upload", "download", "copy"].map((word) => [word, "cp"] as const),
  ...["delete", "remove"].map((word) => [word, "rm"] as const),
]);

/** The same for commands of their own. */
const ROOT_WORDS: ReadonlyMap<string, string> = new Map([
  ["idxs", "indexes"],
  ["computed", "columns --computed"],
  ["tables", "ls"],
]);

/** Collects errors of the command-line parser, so that they are printed like other problems. */
export interface UsageText {
  /** Texts for the parser, which collect its errors. */
  readonly text: ApplicationText;
  readonly problem: Problem | undefined;
}

/** `named`: the words of the command line that name its command. */
export function collectUsageText(argv: readonly string[], named: readonly string[]): UsageText {
  const found: { detail: string; hint: string | undefined }[] = [];
  const commandPath = commandOf(argv);
  const keep = (detail: string, hint: string | undefined): string => {
    found.push({ detail, hint });
    return "";
  };
  const text: ApplicationText = {
    ...text_en,
    noCommandRegisteredForInput: ({ input, corrections }) => {
      const words = commandPath[0] === input ? ROOT_WORDS : OTHER_WORDS;
      const meant = commandPath[0] === input || commandPath[0] === "media" ? words.get(input) : undefined;
      const suggestion = meant ?? corrections[0]?.replaceAll("`", "");
      const parent = commandPath.slice(
        0,
        commandPath.indexOf(input) < 0 ? commandPath.length : commandPath.indexOf(input),
      );
      return keep(
        `No command named '${["cli", ...parent, input].join(" ")}'.`,
        suggestion === undefined
          ? `See what there is: ${["cli", ...parent, "--help"].join(" ")}`
          : `Did you mean: ${["cli", ...parent, suggestion].join(" ")}`,
      );
    },
    exceptionWhileParsingArguments: (error) =>
      keep(describeUsage(error), `See the usage: ${["cli", ...named, "--help"].join(" ")}`),
  };
  return {
    text,
    get problem() {
      if (found.length === 0) return undefined;
      const detail = found.map((each) => each.detail).join("\n");
      return toProblem(appError("usage", { detail, hint: found[0]?.hint }));
    },
  };
}

/** The words before the first option. */
function commandOf(argv: readonly string[]): readonly string[] {
  const end = argv.findIndex((word) => word.startsWith("-"));
  return end < 0 ? argv : argv.slice(0, end);
}

/** By class and not by its name: the bundle of the command has shorter names. */
function describeUsage(error: unknown): string {
  if (error instanceof FlagNotFoundError) {
    const [near] = error.corrections;
    return `No option named --${error.input}${near === undefined ? "." : `; did you mean --${toKebab(near)}?`}`;
  }
  if (error instanceof AliasNotFoundError) return `No option named -${error.input}.`;
  if (error instanceof UnsatisfiedPositionalError) return `${error.placeholder} is missing.`;
  if (error instanceof UnexpectedPositionalError)
    return `'${error.input}' is one argument too many: expected ${error.expectedCount}.`;
  if (error instanceof UnsatisfiedFlagError) return `The option --${error.externalFlagName} needs a value.`;
  if (error instanceof UnexpectedFlagError) return `The option --${error.externalFlagName} is given twice.`;
  if (error instanceof EnumValidationError)
    return `--${error.externalFlagName} takes ${error.values.join(", ")}, not '${error.input}'.`;
  if (error instanceof ArgumentParseError) {
    const { exception, externalFlagNameOrPlaceholder: name, input } = error;
    return `'${input}' is not a valid ${name}: ${exception instanceof Error ? exception.message : exception}.`;
  }
  return error instanceof Error ? error.message : String(error);
}

/** Options are camelCase in code and kebab-case on the command line. */
export function toKebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
