import type { Expr } from "@appdb/contract/expressions";
import { mapParts } from "@appdb/engine/expressions/tree";

/** Writes every constant -0.0 of an expression as the negation of 0.0, because msgpackr writes -0 as the integer 0. */
export function spellNegativeZero(expr: Expr): Expr {
  if (expr.node !== "literal" || !Object.is(expr.value, -0)) return mapParts(expr, spellNegativeZero);
  return { node: "call", fn: "op.neg", args: [{ ...expr, value: 0 }], kwargs: {}, type: expr.type, nullable: false };
}
