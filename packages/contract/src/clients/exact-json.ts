/** JSON with unrounded numbers: rows contain integers above 2^53, which `JSON.parse` would round. */
export type ExactJson = null | boolean | string | ExactNumber | readonly ExactJson[] | ExactObject;
/** In source order. A map, because a key may be `__proto__`. */
export type ExactObject = ReadonlyMap<string, ExactJson>;

export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Malformed JSON. `at` is the place of the character that is wrong. */
export class ExactJsonError extends SyntaxError {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

const SPACE = /\s*/y;
const TOKEN = /[{}[\],:]|-?\d[\d.eE+-]*|true|false|null/y;

/** The place of the next quote that no backslash escapes; -1 without one. A pattern would use the stack for each escape. */
export function nextQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (at - 1 - backslashes >= from && text[at - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return -1;
}

/** Parses a document.  @throws ExactJsonError if it is not JSON */
export function parseExact(text: string): ExactJson {
  const reader = new Reader(text);
  const value = reader.value(reader.next());
  const at = reader.end();
  if (at < text.length) throw new ExactJsonError("Unexpected text after the JSON document.", at);
  return value;
}

/** The end of a token other than a string; 0 without one. */
function endOfToken(text: string, start: number): number {
  TOKEN.lastIndex = start;
  return TOKEN.test(text) ? TOKEN.lastIndex : 0;
}

class Reader {
  readonly #text: string;
  #at = 0;
  /** Where the last token begins. */
  #token = 0;

  constructor(text: string) {
    this.#text = text;
  }

  next(): string {
    const text = this.#text;
    SPACE.lastIndex = this.#at;
    SPACE.test(text);
    const start = SPACE.lastIndex;
    const end = text[start] === '"' ? nextQuote(text, start + 1) + 1 : endOfToken(text, start);
    if (end === 0) throw new ExactJsonError(`Expected JSON at character ${this.#at}.`, this.end());
    this.#at = end;
    this.#token = start;
    return text.slice(start, end);
  }

  /** The place behind the last token and white space. */
  end(): number {
    return this.#text.length - this.#text.slice(this.#at).trimStart().length;
  }

  value(token: string): ExactJson {
    if (token === "{") return this.#object();
    if (token === "[") return this.#array();
    if (token.startsWith('"')) return this.#string(token);
    if (token === "true" || token === "false") return token === "true";
    if (token === "null") return null;
    if (/^[-\d]/.test(token)) return new ExactNumber(token);
    throw this.#unexpected(token);
  }

  #array(): ExactJson[] {
    const items: ExactJson[] = [];
    let token = this.next();
    if (token === "]") return items;
    for (;;) {
      items.push(this.value(token));
      const after = this.next();
      if (after === "]") return items;
      if (after !== ",") throw this.#unexpected(after);
      token = this.next();
    }
  }

  #object(): ExactObject {
    const members = new Map<string, ExactJson>();
    let token = this.next();
    if (token === "}") return members;
    for (;;) {
      if (!token.startsWith('"')) throw this.#unexpected(token);
      const colon = this.next();
      if (colon !== ":") throw this.#unexpected(colon);
      members.set(this.#string(token), this.value(this.next()));
      const after = this.next();
      if (after === "}") return members;
      if (after !== ",") throw this.#unexpected(after);
      token = this.next();
    }
  }

  #string(token: string): string {
    try {
      const text: unknown = JSON.parse(token);
      return String(text);
    } catch (error) {
      throw new ExactJsonError(error instanceof Error ? error.message : String(error), this.#token);
    }
  }

  #unexpected(token: string): ExactJsonError {
    return new ExactJsonError(`Unexpected ${token}.`, this.#token);
  }
}

/** The value as JSON, in one line or indented by so many spaces. */
export function printExact(value: ExactJson, indent = 0): string {
  return print(value, indent, "");
}

function print(value: ExactJson, indent: number, margin: string): string {
  if (value instanceof ExactNumber) return value.text;
  if (isObject(value)) {
    const members = [...value].map(([key, member]) => {
      const inner = print(member, indent, margin + " ".repeat(indent));
      return `${JSON.stringify(key)}:${indent > 0 ? " " : ""}${inner}`;
    });
    return wrap("{", members, "}", indent, margin);
  }
  if (isArray(value)) {
    // numbers in one line: a vector on 1,000 lines is unreadable
    const isFlat = value.every((item) => !isArray(item) && !isObject(item));
    const items = value.map((item) => print(item, indent, margin + " ".repeat(indent)));
    return isFlat ? `[${items.join(indent > 0 ? ", " : ",")}]` : wrap("[", items, "]", indent, margin);
  }
  return JSON.stringify(value);
}

function wrap(open: string, parts: readonly string[], close: string, indent: number, margin: string): string {
  if (indent === 0 || parts.length === 0) return open + parts.join(",") + close;
  const inner = margin + " ".repeat(indent);
  return `${open}\n${parts.map((part) => inner + part).join(",\n")}\n${margin}${close}`;
}

export function isObject(value: ExactJson | undefined): value is ExactObject {
  return value instanceof Map;
}

export function isArray(value: ExactJson | undefined): value is readonly ExactJson[] {
  return Array.isArray(value);
}
