export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

export interface CompletedCommand {
  /** `schema diff`, `init`. */
  readonly command: string;
  readonly brief: string;
  readonly flags: readonly string[];
}

/** Writes a completion script: commands, then options or files. */
export function writeCompletions(shell: Shell, commands: readonly CompletedCommand[]): string {
  switch (shell) {
    case "bash":
      return writeBash(commands);
    case "zsh":
      // zsh runs bash's completions, so that there is only one script to maintain.
      return `autoload -Uz bashcompinit && bashcompinit\n${writeBash(commands)}`;
    case "fish":
      return writeFish(commands);
  }
}

function writeBash(commands: readonly CompletedCommand[]): string {
  const first = firstWords(commands);
  const nouns = first.filter((word) => verbsOf(word, commands).length > 0);
  const verbs = nouns.map((noun) => `      ${noun}) words="${verbsOf(noun, commands).join(" ")}" ;;`);
  // `schema diff` is identified by two words, `init` by one.
  const options = commands.map(({ command, flags }) => {
    const pattern = command.includes(" ") ? `"${command}"` : `"${command}"*`;
    return `      ${pattern}) words="${flags.join(" ")}" ;;`;
  });
  return `_cli_completions() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words=""
  COMPREPLY=()
  if [[ "$word" == -* && "$COMP_CWORD" -gt 1 ]]; then
    case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${options.join("\n")}
    esac
  elif [ "$COMP_CWORD" -eq 1 ]; then
    words="${first.join(" ")} --help --version"
  elif [ "$COMP_CWORD" -eq 2 ]; then
    case "\${COMP_WORDS[1]}" in
${verbs.join("\n")}
    esac
  fi
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}
complete -o filenames -F _cli_completions cli
`;
}

function writeFish(commands: readonly CompletedCommand[]): string {
  const first = firstWords(commands);
  const lines = [`complete -c cli -n "not __fish_seen_subcommand_from ${first.join(" ")}" -f`];
  for (const word of first) {
    const leaf = commands.find(({ command }) => command === word);
    lines.push(
      `complete -c cli -n "not __fish_seen_subcommand_from ${first.join(" ")}" -a ${word} -d ${quote(leaf?.brief ?? `${word} commands`)}`,
    );
  }
  for (const { command, brief, flags } of commands) {
    const [noun = "", verb] = command.split(" ");
    const seen = verb === undefined ? noun : `${noun}; and __fish_seen_subcommand_from ${verb}`;
    if (verb !== undefined) {
      const verbs = verbsOf(noun, commands).join(" ");
      lines.push(
        `complete -c cli -n "__fish_seen_subcommand_from ${noun}; and not __fish_seen_subcommand_from ${verbs}" -f -a ${verb} -d ${quote(brief)}`,
      );
    }
    for (const flag of flags)
      lines.push(`complete -c cli -n "__fish_seen_subcommand_from ${seen}" -l ${flag.slice(2)}`);
  }
  return `${lines.join("\n")}\n`;
}

function firstWords(commands: readonly CompletedCommand[]): string[] {
  return [...new Set(commands.map(({ command }) => command.split(" ")[0] ?? ""))];
}

function verbsOf(noun: string, commands: readonly CompletedCommand[]): string[] {
  return commands
    .filter(({ command }) => command.startsWith(`${noun} `))
    .map(({ command }) => command.slice(noun.length + 1));
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "\\'")}'`;
}
