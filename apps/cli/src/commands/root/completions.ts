import { appError } from "@appdb/contract/errors";
import { defineCommand, type JsonFlag } from "../../define-command.ts";
import { SHELLS, type Shell, writeCompletions } from "../../output/completion-scripts.ts";
import { text } from "../parameters.ts";

interface CompletionResult {
  readonly shell: Shell;
  readonly script: string;
}

/** The scripts contain the words, so completing starts no process. */
export const completions = defineCommand<JsonFlag, [shell: string], CompletionResult>({
  brief: "Print the completions of a shell: bash, zsh or fish",
  examples: [
    ['eval "$(cli completions bash)"', "in ~/.bashrc"],
    ["cli completions fish > ~/.config/fish/completions/cli.fish", "once"],
  ],
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [{ brief: "bash, zsh or fish", placeholder: "SHELL", parse: text }],
    },
  },
  run: async (ctx, _flags, typed) => {
    const shell = SHELLS.find((known) => known === typed);
    if (shell === undefined) {
      throw appError("usage", {
        detail: `No completions for '${typed}'. Supported shells: ${SHELLS.join(", ")}.`,
        hint: "For example: cli completions bash",
      });
    }
    return { shell, script: writeCompletions(shell, await ctx.listCommands()) };
  },
  render: (result, out) => out.line(result.script.trimEnd()),
});
