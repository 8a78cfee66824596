/** A line of our command that can be copied into a shell. */
export function commandLine(words: readonly (string | undefined)[]): string {
  return shellLine(["cli", ...words]);
}

/** A line of any program that can be copied into a shell. */
export function shellLine(words: readonly (string | undefined)[]): string {
  return words
    .filter((word) => word !== undefined)
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}
