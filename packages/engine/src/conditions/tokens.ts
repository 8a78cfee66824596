import { appError } from "@appdb/contract/errors";

/** A piece of a condition's text. `text` of a name or text is its content. */
export interface Token {
  readonly kind: "name" | "quoted" | "text" | "number" | "sign" | "end";
  readonly text: string;
  /** Its first character, from 0. */
  readonly at: number;
}

const MAX_LENGTH = 10_000;
/** Characters of the condition in an error. */
const SHOWN = 30;

const SPACE = /\s*/y;
const PATTERNS = [
  ["number", /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\p{L}_])/uy],
  ["name", /[\p{L}_][\p{L}\p{N}_]*/uy],
  ["text", /'(?:[^']|'')*'/uy],
  ["quoted", /"(?:[^"]|"")+"/uy],
  ["sign", /<=|>=|<>|!=|==|\/\/|[=<>()[\],.+\-*/%]/y],
] as const;

/** Divides a condition into tokens; the last one is its end. @throws invalid_condition */
export function tokensOf(text: string): readonly Token[] {
  if (text.length > MAX_LENGTH) {
    throw appError("invalid_condition", {
      detail: `The condition has ${text.length} characters; the maximum is ${MAX_LENGTH}.`,
      hint: "Shorten it, or send several requests.",
    });
  }
  const tokens: Token[] = [];
  for (let at = skipSpace(text, 0); at < text.length; ) {
    const found = matchAt(text, at);
    if (found === undefined) throw unreadable(text, at);
    tokens.push(found.token);
    at = skipSpace(text, found.end);
  }
  return [...tokens, { kind: "end", text: "", at: text.length }];
}

function skipSpace(text: string, from: number): number {
  SPACE.lastIndex = from;
  SPACE.exec(text);
  return SPACE.lastIndex;
}

function matchAt(text: string, at: number): { readonly token: Token; readonly end: number } | undefined {
  for (const [kind, pattern] of PATTERNS) {
    pattern.lastIndex = at;
    const matched = pattern.exec(text)?.[0];
    if (matched !== undefined) return { token: { kind, text: contentOf(kind, matched), at }, end: at + matched.length };
  }
  return undefined;
}

function contentOf(kind: Token["kind"], text: string): string {
  if (kind === "text") return text.slice(1, -1).replaceAll("''", "'");
  return kind === "quoted" ? text.slice(1, -1).replaceAll('""', '"') : text;
}

function unreadable(text: string, at: number): Error {
  const sign = text[at];
  if (sign === "'" || sign === '"') {
    const what = sign === "'" ? "text" : "name";
    return invalidCondition(text, at, `The ${what} that begins here does not end.`, `Close it with ${sign}.`);
  }
  const hint = sign === "&" || sign === "|" ? "Write and, or, not." : EXAMPLE;
  return invalidCondition(text, at, `Expected a name, a value or an operator, got ${JSON.stringify(sign)}.`, hint);
}

export const EXAMPLE = "Write it like this: score > 0.5 and title like 'x%'";

/** The error for a place in a condition. `what`: a sentence. */
export function invalidCondition(text: string, at: number, what: string, hint = EXAMPLE): Error {
  const rest = text.slice(at, at + SHOWN);
  const where = rest === "" ? "at its end" : `at character ${at + 1}, ${JSON.stringify(rest)}`;
  return appError("invalid_condition", {
    detail: `The condition is not valid ${where}: ${what}`,
    hint,
    meta: { position: at + 1 },
  });
}
