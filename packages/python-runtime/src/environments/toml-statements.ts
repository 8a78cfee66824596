/**
 * Positions of the statements in a TOML text. The scanner reads enough TOML to cut out statements exactly: strings,
 * nested arrays, inline tables, dotted and quoted keys, comments. It does not check values; use a parser for values.
 */
export interface TomlStatement {
  /** `header` is `[a.b]`, `array_header` is `[[a.b]]`, `pair` is `key = value`. */
  readonly kind: "header" | "array_header" | "pair";
  /** Full path from the root, including the header: `["tool", "service", "cpu"]`. */
  readonly path: readonly string[];
  /** Range from the start of the first line to the end of the last line, including the line end. */
  readonly start: number;
  readonly end: number;
  /** Start of the value, or of a header's path. Contains no comment. */
  readonly value_start: number;
  readonly value_end: number;
}

/** A member of an inline table, without the surrounding commas. */
export interface TomlMember {
  readonly key: readonly string[];
  readonly start: number;
  readonly end: number;
  readonly value_start: number;
}

/** Thrown for invalid TOML; `at` is the offset in the text. */
export class NoToml extends Error {
  readonly at: number;

  constructor(at: number) {
    super(`no TOML at ${at}`);
    this.at = at;
  }
}

/** Finds the statements of a text in order. @throws NoToml */
export function findTomlStatements(text: string): TomlStatement[] {
  const statements: TomlStatement[] = [];
  let table: readonly string[] = [];
  for (let at = skipBlank(text, text.startsWith("\ufeff") ? 1 : 0); at < text.length; ) {
    const start = text.lastIndexOf("\n", at - 1) + 1;
    const statement = text[at] === "[" ? readHeader(text, at) : readPair(text, at, table);
    if (statement.kind !== "pair") table = statement.path;
    const end = lineEnd(text, statement.value_end);
    statements.push({ ...statement, start, end });
    at = skipBlank(text, end);
  }
  return statements;
}

/**
 * Finds the members of the inline table that begins at `at`. Undefined when the value is not an inline table.
 * @throws NoToml
 */
export function findInlineMembers(text: string, at: number): TomlMember[] | undefined {
  if (text[at] !== "{") return undefined;
  const members: TomlMember[] = [];
  for (let next = skipBlank(text, at + 1); text[next] !== "}"; ) {
    const [key, after] = readKey(text, next);
    const valueStart = skipSpaces(text, expect(text, skipSpaces(text, after), "="));
    const end = skipValue(text, valueStart);
    members.push({ key, start: next, end, value_start: valueStart });
    next = skipBlank(text, end);
    if (text[next] === ",") next = skipBlank(text, next + 1);
    else if (text[next] !== "}") throw new NoToml(next);
  }
  return members;
}

type Part = Omit<TomlStatement, "start" | "end">;

function readHeader(text: string, at: number): Part {
  const isArray = text[at + 1] === "[";
  const [path, after] = readKey(text, skipSpaces(text, at + (isArray ? 2 : 1)));
  let end = expect(text, skipSpaces(text, after), "]");
  if (isArray) end = expect(text, end, "]");
  return { kind: isArray ? "array_header" : "header", path, value_start: at, value_end: end };
}

function readPair(text: string, at: number, table: readonly string[]): Part {
  const [key, after] = readKey(text, at);
  const valueStart = skipSpaces(text, expect(text, skipSpaces(text, after), "="));
  return { kind: "pair", path: [...table, ...key], value_start: valueStart, value_end: skipValue(text, valueStart) };
}

function readKey(text: string, start: number): [string[], number] {
  const parts: string[] = [];
  for (let at = start; ; ) {
    const [part, after] = readKeyPart(text, at);
    parts.push(part);
    const next = skipSpaces(text, after);
    if (text[next] !== ".") return [parts, after];
    at = skipSpaces(text, next + 1);
  }
}

function readKeyPart(text: string, at: number): [string, number] {
  const quote = text[at];
  if (quote === '"' || quote === "'") {
    const end = skipString(text, at);
    const inner = text.slice(at + 1, end - 1);
    return [quote === '"' ? decodeEscapes(inner) : inner, end];
  }
  const bare = /[A-Za-z0-9_-]+/y;
  bare.lastIndex = at;
  const found = bare.exec(text)?.[0];
  if (found === undefined) throw new NoToml(at);
  return [found, at + found.length];
}

const ESCAPES: Readonly<Record<string, string>> = { b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", e: "\u001b" };

function decodeEscapes(text: string): string {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|(.))/g, (whole, u, U, x, one) => {
    const code = u ?? U ?? x;
    if (code === undefined) return ESCAPES[one] ?? one;
    const point = Number.parseInt(code, 16);
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
}

/** Offset after a value of any type. */
function skipValue(text: string, at: number): number {
  const first = text[at];
  if (first === '"' || first === "'") return skipString(text, at);
  if (first === "{") {
    const last = findInlineMembers(text, at)?.at(-1);
    const end = skipBlank(text, last === undefined ? at + 1 : last.end);
    return expect(text, text[end] === "," ? skipBlank(text, end + 1) : end, "}");
  }
  if (first === "[") return skipArray(text, at);
  // only a date-time contains a space
  const scalar = /\d{4}-\d\d-\d\d \d\d:[^\s,\]}#]*|[^\s,\]}#]+/y;
  scalar.lastIndex = at;
  const found = scalar.exec(text)?.[0];
  if (found === undefined) throw new NoToml(at);
  return at + found.length;
}

function skipArray(text: string, start: number): number {
  let at = skipBlank(text, start + 1);
  while (text[at] !== "]") {
    at = skipBlank(text, skipValue(text, at));
    if (text[at] === ",") at = skipBlank(text, at + 1);
    else if (text[at] !== "]") throw new NoToml(at);
  }
  return at + 1;
}

function skipString(text: string, at: number): number {
  const quote = text[at] ?? "";
  const long = quote.repeat(3);
  const isLong = text.startsWith(long, at);
  const mark = isLong ? long : quote;
  for (let next = at + mark.length; next < text.length; next++) {
    if (text[next] === "\\" && quote === '"') next++;
    else if (text[next] === "\n" && !isLong) break;
    else if (text.startsWith(mark, next)) {
      // up to two quotes may precede the closing three
      let end = next + mark.length;
      while (isLong && end < next + 5 && text[end] === quote) end++;
      return end;
    }
  }
  throw new NoToml(at);
}

function lineEnd(text: string, at: number): number {
  const rest = /[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/y;
  rest.lastIndex = at;
  const found = rest.exec(text);
  if (found === null) throw new NoToml(at);
  return at + found[0].length;
}

/** Skips spaces, line ends and comments. */
function skipBlank(text: string, at: number): number {
  const blank = /(?:[ \t\r\n]|#[^\n]*)*/y;
  blank.lastIndex = at;
  return at + (blank.exec(text)?.[0].length ?? 0);
}

function skipSpaces(text: string, at: number): number {
  let end = at;
  while (text[end] === " " || text[end] === "\t") end++;
  return end;
}

function expect(text: string, at: number, mark: string): number {
  if (text[at] !== mark) throw new NoToml(at);
  return at + 1;
}
