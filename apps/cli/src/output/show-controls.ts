/** Text of others on one line of a terminal: a line break would begin a line that looks like ours, ESC would draw over it. */
export function showControls(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, (character) =>
    character === "\n" ? "\\n" : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
