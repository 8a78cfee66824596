const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/**
 * Returns the source text of each member of a JSON object, trimmed. If a name occurs twice, the last one counts. `text`
 * must be an object that JSON.parse accepted; nothing is checked again.
 */
export function scanMembers(text: string): Map<string, string> {
  const members = new Map<string, string>();
  let at = text.indexOf("{") + 1;
  for (;;) {
    const open = text.indexOf('"', at);
    if (open < 0) return members;
    const afterName = endOfString(text, open);
    const name: string = JSON.parse(text.slice(open, afterName));
    const start = skipTo(text, afterName, COLON) + 1;
    const end = endOfValue(text, start);
    members.set(name, text.slice(start, end).trim());
    at = end;
    if (text.charCodeAt(end) === CLOSE_BRACE) return members;
    at += 1;
  }
}

/** Position after the closing quote of the string that starts at `open`. */
function endOfString(text: string, open: number): number {
  let at = open + 1;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    at += code === BACKSLASH ? 2 : 1;
  }
}

/** Position of the comma or brace after the value. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  let at = start;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
      continue;
    }
    if (depth === 0 && (code === COMMA || code === CLOSE_BRACE)) return at;
    if (code === OPEN_BRACE || code === OPEN_BRACKET) depth += 1;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth -= 1;
    at += 1;
  }
}

function skipTo(text: string, from: number, code: number): number {
  let at = from;
  while (text.charCodeAt(at) !== code) at += 1;
  return at;
}
