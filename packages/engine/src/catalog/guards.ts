import type { Expr } from "@appdb/contract/expressions";

/** A value for the rows of a view only. Nothing is computed for other rows. */
export function guarded(member: Expr | null, value: Expr): Expr {
  if (member === null) return value;
  return { node: "call", fn: "op.when", args: [member, value], kwargs: {}, type: value.type, nullable: true };
}

/** The condition of a view's column and its value for the view's rows. `member` is null for other expressions. */
export function guardOf(expr: Expr): { readonly member: Expr | null; readonly value: Expr } {
  const [member, value] = expr.node === "call" && expr.fn === "op.when" ? expr.args : [];
  return member === undefined || value === undefined ? { member: null, value: expr } : { member, value };
}
