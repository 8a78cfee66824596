/** Members of one object. More take seconds to parse, in which the process does nothing else. */
export const MAX_MEMBERS = 50_000;
/** Lists and objects inside of each other. A value of a column has fewer. */
const MAX_DEPTH = 10_000;
/** A shorter text is parsed at once. */
const LONG_TEXT = 256 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** Describes which limit a text of JSON exceeds. Nothing else is checked, and the text need not be JSON. */
export function findOverflow(text: string): string | undefined {
  if (text.length < LONG_TEXT) return undefined;
  const members: number[] = [];
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = closingQuote(text, at);
        break;
      case COLON: {
        const last = members.length - 1;
        const count = (members[last] ?? 0) + 1;
        if (count > MAX_MEMBERS) return `an object of more than ${MAX_MEMBERS} members`;
        if (last >= 0) members[last] = count;
        break;
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        members.push(0);
        if (members.length > MAX_DEPTH) return `more than ${MAX_DEPTH} levels of lists and objects`;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        members.pop();
        break;
      default:
    }
  }
  return undefined;
}

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Position of the quote that closes the string at `open`, or the end of the text. */
function closingQuote(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (text.charCodeAt(before) === BACKSLASH) before -= 1;
    if ((at - before) % 2 === 1) return at;
  }
  return text.length;
}
