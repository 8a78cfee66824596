import type { Expr } from "@appdb/contract/expressions";
import { shownFunction } from "@appdb/contract/operators";
import { type ColumnType, displayType } from "@appdb/contract/types";
import type { Forms, SqlTemplate } from "../expressions/form.ts";
import { FORMS } from "../expressions/forms.ts";
import { BOOL_TYPE, FLOAT_TYPE, INT_TYPE, JSON_TYPE, STRING_TYPE } from "../kinds/kinds.ts";
import { literalJson, parseUrlText } from "../kinds/values.ts";
import { ValueError } from "../values/value-error.ts";

/** A value in a condition. */
export interface Operand {
  readonly expr: Expr;
  /** Its first character, from 0. */
  readonly at: number;
}

/** Refuses the condition at the place of an operator. `what`: a sentence. */
type Refuse = (what: string, hint?: string) => never;

const NUMBERS: ReadonlySet<string> = new Set([INT_TYPE.kind, FLOAT_TYPE.kind]);
/** Types whose values are not written as texts. */
const PLAIN: ReadonlySet<string> = new Set([...NUMBERS, BOOL_TYPE.kind, STRING_TYPE.kind, JSON_TYPE.kind]);

/** The value of a part of a Json value, by its type in JSON; null for a part of another type. */
const PARTS = {
  number: { fn: "condition.number", cast: "::float8" },
  string: { fn: "condition.text", cast: " collate pg_unicode_fast" },
  boolean: { fn: "condition.bool", cast: "::bool" },
} as const;

const PART_FORMS: Forms = Object.fromEntries(
  Object.entries(PARTS).map(([type, { cast, fn }]) => {
    const form: SqlTemplate = ({ args: [value] }) =>
      `(CASE json_typeof(${value?.sql}) WHEN '${type}' THEN (${value?.sql} #>> '{}')${cast} END)`;
    return [fn, { [JSON_TYPE.kind]: form }];
  }),
);

/** The forms of expressions, and those that only conditions have: nothing else computes them. */
export const CONDITION_FORMS: Forms = {
  ...FORMS,
  ...PART_FORMS,
  "condition.like": {
    [`${STRING_TYPE.kind},${STRING_TYPE.kind}`]: ({ args: [text, pattern] }) => `(${text?.sql} LIKE ${pattern?.sql})`,
  },
};

export function negated(expr: Expr): Expr {
  return call("op.not", [expr], BOOL_TYPE);
}

/** The value as a condition. */
export function asBool({ expr }: Operand, refuse: Refuse): Expr {
  if (expr.type.kind === BOOL_TYPE.kind) return expr;
  if (isJson(expr)) return call(PARTS.boolean.fn, [expr], BOOL_TYPE, true);
  return refuse(`Expected a condition, got a value of the type ${shown(expr)}.`, "Compare it: score > 0.5");
}

export function isNull(fn: "op.is_null" | "op.is_not_null", { expr }: Operand, refuse: Refuse): Expr {
  const tested = call(fn, [expr], BOOL_TYPE);
  return hasForm(tested) ? { ...tested, nullable: false } : refuse(`${shown(expr)} has no test for null.`);
}

export function comparison(fn: string, left: Operand, right: Operand, refuse: Refuse): Expr {
  const isEquality = fn === "op.eq" || fn === "op.ne";
  const [a, b] = alike(left.expr, right.expr, isEquality, refuse);
  const compared = call(fn, [a, b], BOOL_TYPE);
  if (hasForm(compared)) return compared;
  return refuse(`${shownSign(fn)} does not compare ${shown(a)} with ${shown(b)}.`, comparisonHint(a, b));
}

/** One of several constants, or of other values. */
export function membership(value: Operand, options: readonly Operand[], refuse: Refuse): Expr {
  const pairs = options.map(({ expr }) => alike(value.expr, expr, true, refuse));
  const [first] = pairs;
  const [a] = first ?? [value.expr];
  const wrong = pairs.find(([x, y]) => x.type.kind !== a.type.kind || y.type.kind !== a.type.kind);
  if (wrong !== undefined) {
    const [x, y] = wrong;
    return refuse(`in does not compare ${shown(x)} with ${shown(y)}.`, "Give options of one type.");
  }
  return call("op.in", [a, ...pairs.map(([, option]) => option)], BOOL_TYPE);
}

export function likeOf({ expr }: Operand, pattern: Operand, refuse: Refuse): Expr {
  const text = isJson(expr) ? call(PARTS.string.fn, [expr], STRING_TYPE, true) : expr;
  const matched = call("condition.like", [text, pattern.expr], BOOL_TYPE);
  if (matched.node === "call" && CONDITION_FORMS["condition.like"]?.[kindsOf(matched)] !== undefined) return matched;
  return refuse(
    `like does not compare ${shown(text)} with ${shown(pattern.expr)}.`,
    "Give a text column and a pattern: title like 'x%'",
  );
}

/** `right` is undefined for the sign of a number. */
export function arithmetic(fn: string, left: Operand, right: Operand | undefined, refuse: Refuse): Operand {
  const numbers = [left, right].flatMap((one) => (one === undefined ? [] : [asNumber(one.expr)]));
  const isText = numbers.every(({ type }) => type.kind === STRING_TYPE.kind);
  const isInt = numbers.every(({ type }) => type.kind === INT_TYPE.kind) && fn !== "op.truediv";
  const type = isInt ? INT_TYPE : FLOAT_TYPE;
  const expr = call(fn, numbers, isText ? STRING_TYPE : type);
  if (hasForm(expr)) return { expr, at: left.at };
  const operands = numbers.map(shown).join(" and ");
  return refuse(`${shownSign(fn)} does not take ${operands}.`, "Calculate with Int and Float values.");
}

/** Both values in types that can be compared: constants get the type of the other side. */
function alike(a: Expr, b: Expr, isEquality: boolean, refuse: Refuse): readonly [Expr, Expr] {
  if (isJson(a)) return [...jsonPair(a, b, isEquality)];
  if (isJson(b)) {
    const [second, first] = jsonPair(b, a, isEquality);
    return [first, second];
  }
  return [constantAs(a, b.type, refuse), constantAs(b, a.type, refuse)];
}

/** A part of a Json value next to another value: the constant as Json, or the part as a value of its type. */
function jsonPair(json: Expr, other: Expr, isEquality: boolean): readonly [Expr, Expr] {
  if (isJson(other)) return [json, other];
  if (isEquality && other.node === "literal") {
    const value = JSON.stringify(literalJson(other));
    return [json, { node: "literal", value, type: JSON_TYPE, nullable: false }];
  }
  if (NUMBERS.has(other.type.kind)) return [asNumber(json), constantAs(other, FLOAT_TYPE, undefined)];
  if (other.type.kind === BOOL_TYPE.kind) return [call(PARTS.boolean.fn, [json], BOOL_TYPE, true), other];
  return [call(PARTS.string.fn, [json], STRING_TYPE, true), other];
}

function asNumber(expr: Expr): Expr {
  return isJson(expr) ? call(PARTS.number.fn, [expr], FLOAT_TYPE, true) : expr;
}

/** A constant in the type of the value that it is compared with: a date is written as a text. */
function constantAs(expr: Expr, type: ColumnType, refuse: Refuse | undefined): Expr {
  if (expr.node !== "literal" || expr.type.kind === type.kind) return expr;
  if (expr.type.kind === INT_TYPE.kind && type.kind === FLOAT_TYPE.kind) {
    return { ...expr, value: Number(expr.value), type: FLOAT_TYPE };
  }
  if (expr.type.kind !== STRING_TYPE.kind || PLAIN.has(type.kind) || refuse === undefined) return expr;
  const parsed = parseUrlText(type, String(expr.value));
  if (typeof parsed === "string") return { ...expr, value: parsed, type };
  return refuse(
    `${JSON.stringify(expr.value)} is not a value of the type ${displayType(type, false)}.${parsed instanceof ValueError ? ` ${parsed.detail}` : ""}`,
    "Write the value as a response has it.",
  );
}

function call(fn: string, args: Expr[], type: ColumnType, isNullable?: boolean): Expr {
  const nullable = isNullable ?? args.some((arg) => arg.nullable);
  return { node: "call", fn, args, kwargs: {}, type, nullable };
}

function kindsOf(expr: Expr & { readonly node: "call" }): string {
  return expr.args.map(({ type }) => type.kind).join(",");
}

/** Whether the engine has SQL for a function of these types. Json values have it for some constants only. */
function hasForm(expr: Expr): boolean {
  return expr.node === "call" && CONDITION_FORMS[expr.fn]?.[kindsOf(expr)] !== undefined;
}

function isJson({ type }: Expr): boolean {
  return type.kind === JSON_TYPE.kind;
}

function shown(expr: Expr): string {
  return displayType(expr.type, false);
}

function shownSign(fn: string): string {
  return fn === "op.eq" ? "=" : shownFunction(fn);
}

function comparisonHint(a: Expr, b: Expr): string {
  return [a, b].some(({ type }) => type.kind === STRING_TYPE.kind)
    ? "Write texts in single quotes, and numbers and true and false without quotes."
    : "Compare values of one type.";
}
