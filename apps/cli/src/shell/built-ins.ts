/** What the shell has besides commands: how it is typed, and what it does. */
export const BUILT_INS: readonly (readonly [typed: string, what: string])[] = [
  ["cd PATH", "go to a database or a folder; cd / is this machine, cd alone where the shell began"],
  ["pwd", "print where you are"],
  ["\\d", "list tables and folders, as ls does"],
  ["\\d TABLE", "show a table, as describe does"],
  ["\\dt", "list all tables, as ls --tree does"],
  ["\\l", "list the databases of this machine"],
  ["select ...;", "run SQL until the semicolon, also over several lines"],
  ["help [COMMAND]", "show this, or the help of a command"],
  ["exit", "end the shell, as quit, \\q and Ctrl-D do"],
];

/** Their first words, for completion. */
export const BUILT_IN_NAMES = ["cd", "pwd", "\\d", "\\dt", "\\l", "help", "exit", "quit"] as const;

const EXITS: ReadonlySet<string> = new Set(["exit", "quit", "\\q"]);

export function isExit(words: readonly string[]): boolean {
  return words.length === 1 && EXITS.has(words[0] ?? "");
}

/** The command of a shortcut: `\d docs` is `describe docs`. Other words stay. */
export function expandShortcut(words: readonly string[]): readonly string[] {
  const [first, ...rest] = words;
  if (first === "cli") return expandShortcut(rest);
  if (first === "\\d") return [rest.length === 0 ? "ls" : "describe", ...rest];
  if (first === "\\dt") return ["ls", "--tree", ...rest];
  if (first === "\\l") return ["ls", "/"];
  if (first === "\\?") return ["help"];
  return words;
}
