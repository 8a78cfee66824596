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

const TOKEN = /\s*(?:([{}[\],:])|("[^"\\]*(?:\\.[^"\\]*)*")|(-?\d[\d.eE+-]*)|(true|false|null))/y;

/** Parses a server's document.  @throws SyntaxError if it is not JSON */
export function parseExact(text: string): ExactJson {
  const reader = new Reader(text);
  const value = reader.value(reader.next());
  if (reader.rest() !== "") throw new SyntaxError("Unexpected text after the JSON document.");
  return value;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  next(): string {
    TOKEN.lastIndex = this.#at;
    const found = TOKEN.exec(this.#text);
    if (found === null) throw new SyntaxError(`Expected JSON at character ${this.#at}.`);
    this.#at = TOKEN.lastIndex;
    return found[1] ?? found[2] ?? found[3] ?? found[4] ?? "";
  }

  rest(): string {
    return this.#text.slice(this.#at).trim();
  }

  value(token: string): ExactJson {
    if (token === "{") return this.#object();
    if (token === "[") return this.#array();
    if (token.startsWith('"')) return stringOf(token);
    if (token === "true" || token === "false") return token === "true";
    if (token === "null") return null;
    if (/^[-\d]/.test(token)) return new ExactNumber(token);
    throw unexpected(token);
  }

  #array(): ExactJson[] {
    const items: ExactJson[] = [];
    let token = this.next();
    if (token === "]") return items;
    for (;;) {
      items.push(this.value(token));
      const after = this.next();
      if (after === "]") return items;
      if (after !== ",") throw unexpected(after);
      token = this.next();
    }
  }

  #object(): ExactObject {
    const members = new Map<string, ExactJson>();
    let token = this.next();
    if (token === "}") return members;
    for (;;) {
      if (!token.startsWith('"')) throw unexpected(token);
      const colon = this.next();
      if (colon !== ":") throw unexpected(colon);
      members.set(stringOf(token), this.value(this.next()));
      const after = this.next();
      if (after === "}") return members;
      if (after !== ",") throw unexpected(after);
      token = this.next();
    }
  }
}

function stringOf(token: string): string {
  const text: unknown = JSON.parse(token);
  return String(text);
}

function unexpected(token: string): SyntaxError {
  return new SyntaxError(`Unexpected ${token}.`);
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
