import type { Expr } from "@appdb/contract/expressions";
import { FLOAT_TYPE, INT_TYPE, kindOf } from "../kinds/kinds.ts";

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

type Call = Extract<Expr, { node: "call" }>;

/** Whether an expression only compares columns and constants of one ordered kind, so that its SQL never raises. */
export function isComparison(expr: Expr): boolean {
  return consistsOf(expr, comparesOrdered);
}

/** Whether a call compares values of one kind, or combines conditions. A constant Int that a Float represents exactly is
 *  like a Float. */
export function comparesOneKind({ fn, args }: Call): boolean {
  if (!CONDITIONS.has(fn)) return false;
  const kinds = new Set(args.map(({ type }) => type.kind));
  if (kinds.size <= 1) return true;
  return args.every((arg) => arg.type.kind === FLOAT_TYPE.kind || isExactInt(arg));
}

/** Whether an expression is a constant Int that a Float represents exactly. */
export function isExactInt(expr: Expr): boolean {
  return (
    expr.node === "literal" &&
    expr.type.kind === INT_TYPE.kind &&
    typeof expr.value === "string" &&
    Number.isSafeInteger(Number(expr.value))
  );
}

/** The same of a kind with an order: SQL reads no parts of its values. */
export function comparesOrdered(call: Call): boolean {
  return comparesOneKind(call) && call.args.every(({ type }) => kindOf(type).isOrdered);
}

/** Whether an expression has only such calls, over columns and constants. `isLeaf`: a call whose arguments do not matter. */
export function consistsOf(
  expr: Expr,
  isAllowed: (call: Call) => boolean,
  isLeaf: (call: Call) => boolean = () => false,
): boolean {
  if (expr.node === "column" || expr.node === "literal") return true;
  if (expr.node !== "call") return false;
  if (isLeaf(expr)) return true;
  return (
    isAllowed(expr) &&
    [...expr.args, ...Object.values(expr.kwargs)].every((part) => consistsOf(part, isAllowed, isLeaf))
  );
}
