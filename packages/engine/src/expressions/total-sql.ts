import type { Expr } from "@appdb/contract/expressions";
import { kindOf, STRING_TYPE } from "../kinds/kinds.ts";
import { compileSql, ROW_COLUMNS } from "./compile-sql.ts";

/** Comparisons and logic, whose SQL gives a value for any row. */
const CONDITIONS: ReadonlySet<string> = new Set([
  "op.eq",
  "op.ne",
  "op.lt",
  "op.le",
  "op.gt",
  "op.ge",
  "op.and",
  "op.or",
  "op.not",
  "op.is_null",
  "op.is_not_null",
]);

/** Functions of strings, whose SQL gives a value for any text and is about as long as the text. */
const STRINGS: ReadonlySet<string> = new Set([
  "op.add",
  "string.upper",
  "string.lower",
  "string.casefold",
  "string.capitalize",
  "string.reverse",
  "string.len",
  "string.isascii",
  "string.isspace",
  "string.strip",
  "string.lstrip",
  "string.rstrip",
  "string.contains",
  "string.startswith",
  "string.endswith",
  "string.removeprefix",
  "string.removesuffix",
  "string.find",
  "string.slice",
]);

/** Whether SQL can compute a condition of any row, wherever it is read: comparisons of columns of one kind and
 *  constants, and samples. */
export function isTotalCondition(condition: Expr): boolean {
  return isTotal(condition, ({ fn, args }) => CONDITIONS.has(fn) && isOfOneKind(args));
}

/** Whether SQL can compute a value of any row without an error: also functions of strings. */
export function isTotalValue(value: Expr): boolean {
  return isTotal(value, ({ fn, args }) => {
    if (fn === "string.format") return true;
    if (STRINGS.has(fn)) return args.every(({ type }) => type.kind === STRING_TYPE.kind);
    return CONDITIONS.has(fn) && isOfOneKind(args) && args.every(({ type }) => kindOf(type).isOrdered);
  });
}

type Call = Extract<Expr, { node: "call" }>;

function isTotal(expr: Expr, isTotalCall: (call: Call) => boolean): boolean {
  const isTotalNode = (node: Expr): boolean => {
    if (node.node === "column" || node.node === "literal") return true;
    if (node.node !== "call") return false;
    // A sample is drawn by the texts of a key (python/appdb/declare/views.py), which every row has.
    if (node.fn === "op.draw") return true;
    return isTotalCall(node) && [...node.args, ...Object.values(node.kwargs)].every(isTotalNode);
  };
  return compileSql(expr, ROW_COLUMNS) !== undefined && isTotalNode(expr);
}

function isOfOneKind(args: readonly Expr[]): boolean {
  return new Set(args.map(({ type }) => type.kind)).size <= 1;
}
