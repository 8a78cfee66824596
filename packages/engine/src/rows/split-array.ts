import { appError } from "@appdb/contract/errors";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
/** Number of elements in one chunk. */
const AT_ONCE = 500;

/** Whether the text of a body is an array, provided that it is valid JSON. */
export function isArrayText(text: string): boolean {
  const first = text.charCodeAt(0);
  return first === OPEN_BRACKET || (first !== OPEN_BRACE && /^[ \t\r\n]*\[/.test(text));
}

/**
 * Splits the text of a JSON array into the texts of its elements, several at a time. The caller parses the elements. If
 * the text is not JSON, at least one element is not JSON either.
 * @throws invalid_json when the array does not end, or when text follows it
 */
export async function* splitArray(text: string): AsyncGenerator<readonly string[]> {
  let elements: string[] = [];
  let at = text.indexOf("[") + 1;
  for (;;) {
    const end = endOfElement(text, at);
    const element = text.slice(at, end);
    const isLast = text.charCodeAt(end) === CLOSE_BRACKET;
    const isEmpty =
      isLast && elements.length === 0 && element.trim() === "" && text.charCodeAt(at - 1) === OPEN_BRACKET;
    if (!isEmpty) elements.push(element);
    if (isLast) {
      if (text.slice(end + 1).trim() !== "") throw broken("Unexpected text after the array.");
      if (elements.length > 0) yield elements;
      return;
    }
    at = end + 1;
    if (elements.length === AT_ONCE) {
      yield elements;
      elements = [];
    }
  }
}

/** Position of the comma or bracket after an element. */
function endOfElement(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = closingQuote(text, at);
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth += 1;
        break;
      case CLOSE_BRACE:
        depth -= 1;
        break;
      case CLOSE_BRACKET:
        if (depth <= 0) return at;
        depth -= 1;
        break;
      case COMMA:
        if (depth <= 0) return at;
        break;
    }
  }
  throw broken("The array does not end.");
}

function closingQuote(text: string, open: number): number {
  for (let at = open + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  throw broken("A string in the array does not end.");
}

function broken(what: string): Error {
  return appError("invalid_json", { detail: `The body is not JSON: ${what}`, hint: "Send an array of objects." });
}
