/** A line in words, quoted as in a shell. */
export interface SplitLine {
  readonly words: readonly string[];
  /** What the line leaves open; undefined for a complete line. */
  readonly open: "'" | '"' | "\\" | undefined;
  /** Whether the next character begins a word. */
  readonly is_between: boolean;
}

const ESCAPED_IN_QUOTES = '"\\';

/** Splits a line into words. A `#` at the beginning of a word starts a comment. */
export function splitWords(line: string): SplitLine {
  const words: string[] = [];
  let word: string | undefined;
  let quote: "'" | '"' | undefined;
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at] ?? "";
    if (quote === undefined && /\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
      continue;
    }
    if (word === undefined) {
      if (character === "#") return { words, open: undefined, is_between: false };
      word = "";
    }
    if (character === quote) quote = undefined;
    else if (quote === undefined && (character === "'" || character === '"')) quote = character;
    else if (
      character === "\\" &&
      isEscape(quote, line[at + 1]) &&
      !(word === "" && isShortcut(words, line.slice(at)))
    ) {
      at += 1;
      if (at === line.length) return { words: [...words, word], open: "\\", is_between: false };
      // a line break after a backslash continues the line
      if (line[at] !== "\n") word += line[at];
    } else word += character;
  }
  if (word === undefined) return { words, open: undefined, is_between: true };
  return { words: [...words, word], open: quote, is_between: false };
}

/** `\d` and the like at the beginning of a line. */
function isShortcut(words: readonly string[], rest: string): boolean {
  return words.length === 0 && /^\\(?:[a-z]|\?$)/.test(rest);
}

function isEscape(quote: "'" | '"' | undefined, next: string | undefined): boolean {
  if (quote === undefined) return true;
  return quote === '"' && next !== undefined && ESCAPED_IN_QUOTES.includes(next);
}
