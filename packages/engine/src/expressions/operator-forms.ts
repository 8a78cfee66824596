import { TYPE_KINDS, type TypeKind } from "@appdb/contract/types";
import type { Kind } from "../kinds/kind.ts";
import { INT_TYPE, KINDS } from "../kinds/kinds.ts";
import { raiseWhere } from "../sql/raise-where.ts";
import { isComparison, isExactInt } from "./comparisons.ts";
import { type Argument, type Forms, type SqlTemplate, smallInt } from "./form.ts";
import { JSON_COMPARISONS, jsonEquals } from "./json-forms.ts";

/** A form for each kind that has one. */
function ofKinds(
  formOf: (kind: Kind, name: TypeKind) => readonly [string, SqlTemplate] | undefined,
): Record<string, SqlTemplate> {
  return Object.fromEntries(TYPE_KINDS.map((name) => formOf(KINDS[name], name)).filter((entry) => entry !== undefined));
}

/** Ints up to this value are exact floats. */
const EXACT = "9007199254740992";

const infix =
  (sign: string): SqlTemplate =>
  ({ args: [a, b] }) =>
    `(${a?.sql} ${sign} ${b?.sql})`;

/** The same with Int operands converted to floats, as in Python arithmetic. */
const floatInfix =
  (sign: string): SqlTemplate =>
  ({ args: [a, b] }) =>
    `(${a?.sql}::float8 ${sign} ${b?.sql}::float8)`;

const arithmetic = (sign: string) => ({
  "int,int": infix(sign),
  "float,float": infix(sign),
  "int,float": floatInfix(sign),
  "float,int": floatInfix(sign),
});

/** Python compares an Int with a Float exactly. Only Ints that are exact floats have this form. */
const mixedComparison =
  (sign: string): SqlTemplate =>
  ({ args: [a, b] }) => {
    const isIntFirst = a?.expr.type.kind === INT_TYPE.kind;
    const int = (isIntFirst ? a : b) as Argument;
    const comparison = `(${a?.sql}::float8 ${sign} ${b?.sql}::float8)`;
    if (isExactInt(int.expr)) return comparison;
    return raiseWhere(isInexact(int.sql), int.sql, "bool", comparison);
  };

const ordered = (sign: string) => ({
  "int,float": mixedComparison(sign),
  "float,int": mixedComparison(sign),
  ...ofKinds((kind, name) => (kind.isOrdered ? [`${name},${name}`, infix(sign)] : undefined)),
});

/** Python rounds the quotient of two Ints once. A float division is equal if both Ints are exact. */
const intQuotient: SqlTemplate = ({ args: [a, b] }) => {
  let sql = `(${a?.sql}::float8 / ${b?.sql}::float8)`;
  for (const arg of [a, b]) {
    if (arg !== undefined && smallInt(arg) === undefined) sql = raiseWhere(isInexact(arg.sql), arg.sql, "float8", sql);
  }
  return sql;
};

/** SQL's remainder has the sign of the dividend, Python's that of the divisor. */
const intRemainder = (a: string, b: string) => `(((${a} % ${b}) + ${b}) % ${b})`;

const nullTest = (word: "is" | "isNot") =>
  ofKinds(({ isNull }, name) => (isNull === null ? undefined : [name, ({ args: [a] }) => isNull[word](a?.sql ?? "")]));

/** Like IN: null for a null value, or without a match if an option is null. All options are evaluated. */
const oneOf: SqlTemplate = ({ args: [value, ...options], kwargs }) => {
  if (kwargs.options !== undefined) return undefined;
  const kind = value?.expr.type.kind;
  if (kind === undefined || options.some((option) => option.expr.type.kind !== kind)) return undefined;
  if (options.length === 0) return `(${value?.sql} IS NULL AND ${value?.sql} IS NOT NULL)`;
  const { membership } = KINDS[kind];
  if (membership === null) return undefined;
  if (membership === "any") return `(${value?.sql} = ANY (ARRAY[${options.map((option) => option.sql).join(", ")}]))`;
  const equals = options.map((option) => jsonEquals(value, option));
  return equals.includes(undefined) ? undefined : `(true = ANY (ARRAY[${equals.join(", ")}]))`;
};

/** Operators. Division by zero and Ints beyond 64 bits raise; Python then reports the error for the cell. */
export const OPERATOR_FORMS: Forms = {
  "op.add": { ...arithmetic("+"), "string,string": infix("||") },
  "op.sub": arithmetic("-"),
  "op.mul": arithmetic("*"),
  "op.truediv": { ...arithmetic("/"), "int,int": intQuotient },
  "op.floordiv": {
    "int,int": ({ args: [a, b] }) => `((${a?.sql} - ${intRemainder(a?.sql ?? "", b?.sql ?? "")}) / ${b?.sql})`,
  },
  "op.mod": { "int,int": ({ args: [a, b] }) => intRemainder(a?.sql ?? "", b?.sql ?? "") },
  "op.neg": { int: ({ args: [a] }) => `(- ${a?.sql})`, float: ({ args: [a] }) => `(- ${a?.sql})` },
  "op.abs": { int: ({ args: [a] }) => `abs(${a?.sql})`, float: ({ args: [a] }) => `abs(${a?.sql})` },
  // Half to even on both sides. With a number of digits the results differ.
  "op.round": { int: ({ args: [a] }) => a?.sql, float: ({ args: [a] }) => `round(${a?.sql})` },
  "op.eq": { ...ordered("="), ...JSON_COMPARISONS["op.eq"] },
  "op.ne": { ...ordered("<>"), ...JSON_COMPARISONS["op.ne"] },
  "op.in": { "*": oneOf },
  "op.lt": ordered("<"),
  "op.le": ordered("<="),
  "op.gt": ordered(">"),
  "op.ge": ordered(">="),
  "op.and": { "bool,bool": logic("AND", (list) => `(NOT (false = ANY (ARRAY[${list}])))`) },
  "op.or": { "bool,bool": logic("OR", (list) => `(true = ANY (ARRAY[${list}]))`) },
  "op.not": { bool: ({ args: [a] }) => `(NOT ${a?.sql})` },
  // The value is not evaluated where the condition is not true.
  "op.when": ofKinds((_kind, name) => [
    `bool,${name}`,
    ({ args: [condition, value] }) => `(CASE WHEN ${condition?.sql} THEN ${value?.sql} END)`,
  ]),
  // 52 bits, which a Float keeps.
  "op.draw": {
    string: ({ args: [text] }) => `(('x' || left(md5(${text?.sql}), 13))::bit(52)::int8::float8 / 4503599627370496)`,
  },
  "op.is_null": nullTest("is"),
  "op.is_not_null": nullTest("isNot"),
};

/** Three-valued like AND and OR, but every operand is evaluated: a failing operand must fail the cell. Comparisons never
 *  fail, and PostgreSQL evaluates AND and OR several times faster, or finds the rows in an index. */
function logic(operator: "AND" | "OR", evaluateAll: (list: string) => string): SqlTemplate {
  return ({ args }) => {
    const isSafe = args.every(({ expr }) => isComparison(expr));
    return isSafe
      ? `(${args.map(({ sql }) => sql).join(` ${operator} `)})`
      : evaluateAll(args.map(({ sql }) => sql).join(", "));
  };
}

function isInexact(int: string): string {
  return `(${int} NOT BETWEEN '-${EXACT}'::int8 AND '${EXACT}'::int8)`;
}
