/**
 * Escapes foreign text for one terminal line: a line break could forge a line, ESC could control the terminal, and marks
 * of direction could show letters in another order.
 */
export function showControls(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, (character) =>
    character === "\n" ? "\\n" : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The same for text of several lines, such as an error of a server. */
export function showControlsInLines(text: string): string {
  return text.replace(/[^\n\t]+/g, showControls);
}
