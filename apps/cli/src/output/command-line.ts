/** Formats a command of ours for copying into a shell. */
export function commandLine(words: readonly (string | undefined)[]): string {
  return shellLine(["cli", ...words]);
}

/** Formats any command for copying into a shell. */
export function shellLine(words: readonly (string | undefined)[]): string {
  return words
    .filter((word) => word !== undefined)
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}
