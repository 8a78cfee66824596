import { appError, type Problem, toProblem } from "@appdb/contract/errors";
import {
  type ApplicationText,
  ArgumentScannerError,
  formatMessageForArgumentScannerError,
  text_en,
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

export function collectUsageText(argv: readonly string[]): UsageText {
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
      keep(describeUsage(error), `See the usage: ${["cli", ...commandPath.slice(0, 2), "--help"].join(" ")}`),
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

function describeUsage(error: unknown): string {
  if (!(error instanceof ArgumentScannerError)) return error instanceof Error ? error.message : String(error);
  return formatMessageForArgumentScannerError(error, {
    FlagNotFoundError: ({ input, corrections }) =>
      corrections[0] === undefined
        ? `No option named --${input}.`
        : `No option named --${input}; did you mean --${toKebab(corrections[0])}?`,
    AliasNotFoundError: ({ input }) => `No option named -${input}.`,
    UnsatisfiedPositionalError: ({ placeholder }) => `${placeholder} is missing.`,
    UnexpectedPositionalError: ({ input, expectedCount }) =>
      `'${input}' is one argument too many: expected ${expectedCount}.`,
    UnsatisfiedFlagError: ({ externalFlagName }) => `The option --${externalFlagName} needs a value.`,
    UnexpectedFlagError: ({ externalFlagName }) => `The option --${externalFlagName} is given twice.`,
    EnumValidationError: ({ externalFlagName, input, values }) =>
      `--${externalFlagName} takes ${values.join(", ")}, not '${input}'.`,
    ArgumentParseError: ({ externalFlagNameOrPlaceholder, input, exception }) =>
      `'${input}' is not a valid ${externalFlagNameOrPlaceholder}: ${exception instanceof Error ? exception.message : exception}.`,
  });
}

/** Options are camelCase in code and kebab-case on the command line. */
export function toKebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
