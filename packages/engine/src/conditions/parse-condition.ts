import type { Expr, PathStep } from "@appdb/contract/expressions";
import type { CatalogColumn } from "../catalog/catalog.ts";
import { BOOL_TYPE, FLOAT_TYPE, INT_TYPE, JSON_TYPE, STRING_TYPE } from "../kinds/kinds.ts";
import { parseInt64Text } from "../values/parse-numbers.ts";
import { ValueError } from "../values/value-error.ts";
import { arithmetic, asBool, comparison, isNull, likeOf, membership, negated, type Operand } from "./operands.ts";
import { EXAMPLE, invalidCondition, type Token, tokensOf } from "./tokens.ts";

/** Nested parentheses, brackets and signs. */
const MAX_DEPTH = 50;
/** Options of one membership test; more are several tests, because forms of expressions have a maximum length. */
const OPTIONS = 50;

const COMPARISONS: ReadonlyMap<string, string> = new Map([
  ["=", "op.eq"],
  ["==", "op.eq"],
  ["!=", "op.ne"],
  ["<>", "op.ne"],
  ["<", "op.lt"],
  ["<=", "op.le"],
  [">", "op.gt"],
  [">=", "op.ge"],
]);
const SUMS: ReadonlyMap<string, string> = new Map([
  ["+", "op.add"],
  ["-", "op.sub"],
]);
const PRODUCTS: ReadonlyMap<string, string> = new Map([
  ["*", "op.mul"],
  ["/", "op.truediv"],
  ["//", "op.floordiv"],
  ["%", "op.mod"],
]);
const WORDS = new Set(["and", "or", "not", "in", "is", "like", "between", "null", "true", "false"]);
const ERROR_PARTS: ReadonlyMap<string, "type" | "message"> = new Map([
  ["errortype", "type"],
  ["errormsg", "message"],
]);

/** What a condition may name. */
export interface ConditionColumns {
  readonly columns: readonly CatalogColumn[];
  /** The error for an unknown name. */
  notFound(name: string, isQuoted: boolean): Error;
}

/**
 * Parses a condition as people write it: `score > 0.5 and title like 'x%' or tag in ('a', 'b')`.
 * @throws invalid_condition with the place, column_not_found
 */
export function parseCondition(text: string, columns: ConditionColumns): Expr {
  return new Parser(text, columns).parse();
}

class Parser {
  readonly #text: string;
  readonly #columns: ConditionColumns;
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(text: string, columns: ConditionColumns) {
    this.#text = text;
    this.#columns = columns;
    this.#tokens = tokensOf(text);
  }

  parse(): Expr {
    const condition = this.#condition();
    if (this.#peek().kind !== "end") throw this.#unexpected("and, or, or the end");
    return this.#asBool(condition);
  }

  /** A condition, or a value without any test. */
  #condition(): Operand {
    return this.#chain("or", "op.or", () => this.#chain("and", "op.and", () => this.#negation()));
  }

  /** Long chains become balanced trees: the depth of expressions is limited. */
  #chain(word: string, fn: string, part: () => Operand): Operand {
    const first = part();
    if (!this.#peekWord(word)) return first;
    const parts = [this.#asBool(first)];
    while (this.#takeWord(word)) parts.push(this.#asBool(part()));
    return { expr: joined(fn, parts), at: first.at };
  }

  #negation(): Operand {
    const { at } = this.#peek();
    if (!this.#takeWord("not")) return this.#test();
    return { expr: this.#nested(() => negated(this.#asBool(this.#negation()))), at };
  }

  #asBool(operand: Operand): Expr {
    return asBool(operand, this.#refuseAt(operand.at));
  }

  #test(): Operand {
    const value = this.#sum();
    const expr = this.#testOf(value);
    return expr === undefined ? value : { expr, at: value.at };
  }

  /** The test whose operator follows a value; undefined for none. */
  #testOf(value: Operand): Expr | undefined {
    const { at, kind, text } = this.#peek();
    const comparing = kind === "sign" ? COMPARISONS.get(text) : undefined;
    if (comparing !== undefined) {
      this.#next += 1;
      const tested = comparison(comparing, value, this.#sum(), this.#refuseAt(at));
      if (COMPARISONS.has(this.#peek().text)) throw this.#unexpected("and, or, or the end");
      return tested;
    }
    if (this.#takeWord("is")) return this.#nullTest(value);
    const isNegated = this.#takeWord("not");
    const tested = this.#wordTest(value, this.#refuseAt(at));
    if (tested === undefined && isNegated) throw this.#unexpected("in, like or between");
    return tested !== undefined && isNegated ? negated(tested) : tested;
  }

  #nullTest(value: Operand): Expr {
    const isNegated = this.#takeWord("not");
    if (!this.#takeWord("null")) throw this.#unexpected(isNegated ? "null" : "null or not null");
    return isNull(isNegated ? "op.is_not_null" : "op.is_null", value, this.#refuseAt(value.at));
  }

  #wordTest(value: Operand, refuse: Refuse): Expr | undefined {
    if (this.#takeWord("in")) return this.#memberTest(value, refuse);
    if (this.#takeWord("like")) return likeOf(value, this.#sum(), refuse);
    if (!this.#takeWord("between")) return undefined;
    const low = this.#sum();
    if (!this.#takeWord("and")) throw this.#unexpected("and, with the upper bound after it");
    const bounds = [comparison("op.ge", value, low, refuse), comparison("op.le", value, this.#sum(), refuse)];
    return joined("op.and", bounds);
  }

  #memberTest(value: Operand, refuse: Refuse): Expr {
    this.#takeSign("(", "a list of values in parentheses");
    const options = [this.#nested(() => this.#sum())];
    while (this.#peekSign(",")) {
      this.#next += 1;
      options.push(this.#sum());
    }
    this.#takeSign(")", "a comma or )");
    const tests: Expr[] = [];
    for (let from = 0; from < options.length; from += OPTIONS) {
      tests.push(membership(value, options.slice(from, from + OPTIONS), refuse));
    }
    return joined("op.or", tests);
  }

  #sum(): Operand {
    return this.#binary(SUMS, () => this.#binary(PRODUCTS, () => this.#signed()));
  }

  #binary(functions: ReadonlyMap<string, string>, part: () => Operand): Operand {
    let left = part();
    for (let parts = 1; ; parts += 1) {
      const { at, kind, text } = this.#peek();
      const fn = kind === "sign" ? functions.get(text) : undefined;
      if (fn === undefined) return left;
      if (parts > MAX_DEPTH) throw this.#tooDeep();
      this.#next += 1;
      left = arithmetic(fn, left, part(), this.#refuseAt(at));
    }
  }

  #signed(): Operand {
    const { at } = this.#peek();
    if (this.#peekSign("-")) {
      this.#next += 1;
      const number = this.#peek();
      if (number.kind === "number") return this.#number(`-${number.text}`, at);
      return this.#nested(() => arithmetic("op.neg", this.#signed(), undefined, this.#refuseAt(at)));
    }
    if (this.#peekSign("+")) this.#next += 1;
    return this.#value();
  }

  #value(): Operand {
    const token = this.#peek();
    const { at, kind, text } = token;
    if (kind === "number") return this.#number(text, at);
    if (kind === "text") {
      this.#next += 1;
      return { expr: { node: "literal", value: text, type: STRING_TYPE, nullable: false }, at };
    }
    if (kind === "quoted") return this.#column(token);
    if (this.#peekSign("(")) return this.#group(at);
    if (kind !== "name") throw this.#unexpected("a column or a value");
    const word = text.toLowerCase();
    if (word === "true" || word === "false") {
      this.#next += 1;
      return { expr: { node: "literal", value: word === "true", type: BOOL_TYPE, nullable: false }, at };
    }
    if (word === "null")
      throw invalidCondition(this.#text, at, "null equals no value.", "Write is null, or is not null.");
    if (WORDS.has(word)) throw this.#unexpected("a column or a value");
    const part = ERROR_PARTS.get(word);
    if (part !== undefined && this.#tokens[this.#next + 1]?.text === "(") return this.#cellError(part, at);
    return this.#column(token);
  }

  /** A value or a whole condition in parentheses. */
  #group(at: number): Operand {
    this.#next += 1;
    const { expr } = this.#nested(() => this.#condition());
    this.#takeSign(")", "an operator or )");
    return { expr, at };
  }

  #number(text: string, at: number): Operand {
    this.#next += 1;
    if (!/^-?\d+$/.test(text)) {
      return { expr: { node: "literal", value: Number(text), type: FLOAT_TYPE, nullable: false }, at };
    }
    const value = parseInt64Text(text, "Int");
    if (value instanceof ValueError) {
      throw invalidCondition(this.#text, at, value.detail);
    }
    return { expr: { node: "literal", value: String(value), type: INT_TYPE, nullable: false }, at };
  }

  #cellError(part: "type" | "message", at: number): Operand {
    this.#next += 2;
    const token = this.#peek();
    if (token.kind !== "name" && token.kind !== "quoted") throw this.#unexpected("a column");
    const { name } = this.#find(token);
    this.#next += 1;
    this.#takeSign(")", ")");
    return { expr: { node: "cell_error", column: name, part, type: STRING_TYPE, nullable: true }, at };
  }

  #column(token: Token): Operand {
    const { name, nullable, type, computed } = this.#find(token);
    this.#next += 1;
    const isNullable = nullable || computed !== null;
    const base: Expr = { node: "column", name, type, nullable: isNullable };
    const steps: PathStep[] = [];
    for (let step = this.#step(); step !== undefined; step = this.#step()) steps.push(step);
    if (steps.length === 0) return { expr: base, at: token.at };
    if (type.kind !== JSON_TYPE.kind) {
      throw invalidCondition(this.#text, token.at, `${name} has no parts: only Json columns have.`);
    }
    return { expr: { node: "path", base, steps, type: JSON_TYPE, nullable: true }, at: token.at };
  }

  /** A step into a Json value: `.key`, `['key']`, `[0]`. */
  #step(): PathStep | undefined {
    if (this.#peekSign(".")) {
      this.#next += 1;
      const { kind, text } = this.#peek();
      if (kind !== "name" && kind !== "quoted") throw this.#unexpected("a key");
      this.#next += 1;
      return { key: text };
    }
    if (!this.#peekSign("[")) return undefined;
    this.#next += 1;
    const sign = this.#peekSign("-") ? "-" : "";
    if (sign !== "") this.#next += 1;
    const { kind, text } = this.#peek();
    const isIndex = kind === "number" && /^\d{1,9}$/.test(text);
    if (!isIndex && (kind !== "text" || sign !== "")) throw this.#unexpected("a key in quotes or a number");
    this.#next += 1;
    this.#takeSign("]", "]");
    return isIndex ? { index: Number(sign + text) } : { key: text };
  }

  #find({ kind, text, at }: Token): CatalogColumn {
    const { columns, notFound } = this.#columns;
    const column =
      columns.find(({ name }) => name === text) ??
      (kind === "name" ? columns.find(({ name }) => name === text.toLowerCase()) : undefined);
    if (column !== undefined) return column;
    if (this.#tokens[this.#next + 1]?.text === "(") {
      const known = [...ERROR_PARTS.keys()].map((name) => `${name}(column)`).join(", ");
      throw invalidCondition(this.#text, at, `There is no function ${text}.`, `These exist: ${known}.`);
    }
    throw notFound(text, kind === "quoted");
  }

  #nested<T>(work: () => T): T {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw this.#tooDeep();
    const done = work();
    this.#depth -= 1;
    return done;
  }

  #tooDeep(): Error {
    const { at } = this.#peek();
    return invalidCondition(this.#text, at, `It is nested more than ${MAX_DEPTH} levels deep.`, "Simplify it.");
  }

  #peek(): Token {
    return this.#tokens[this.#next] ?? { kind: "end", text: "", at: this.#text.length };
  }

  #peekSign(sign: string): boolean {
    const { kind, text } = this.#peek();
    return kind === "sign" && text === sign;
  }

  #takeSign(sign: string, expected: string): void {
    if (!this.#peekSign(sign)) throw this.#unexpected(expected);
    this.#next += 1;
  }

  #peekWord(word: string): boolean {
    const { kind, text } = this.#peek();
    return kind === "name" && text.toLowerCase() === word;
  }

  #takeWord(word: string): boolean {
    const isIt = this.#peekWord(word);
    if (isIt) this.#next += 1;
    return isIt;
  }

  #refuseAt(at: number): Refuse {
    return (what, hint) => {
      throw invalidCondition(this.#text, at, what, hint);
    };
  }

  #unexpected(expected: string): Error {
    const { at, kind, text } = this.#peek();
    const got = kind === "end" ? "the end" : JSON.stringify(text);
    return invalidCondition(this.#text, at, `Expected ${expected}, got ${got}.`, EXAMPLE);
  }
}

type Refuse = (what: string, hint?: string) => never;

/** The parts with an operator between them, as a balanced tree. */
function joined(fn: string, parts: readonly Expr[]): Expr {
  const [first] = parts;
  if (first === undefined) throw new TypeError("A chain has no parts.");
  if (parts.length === 1) return first;
  const middle = parts.length >> 1;
  const [left, right] = [joined(fn, parts.slice(0, middle)), joined(fn, parts.slice(middle))];
  return {
    node: "call",
    fn,
    args: [left, right],
    kwargs: {},
    type: BOOL_TYPE,
    nullable: left.nullable || right.nullable,
  };
}
