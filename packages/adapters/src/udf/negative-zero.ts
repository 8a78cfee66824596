import type { Expr } from "@appdb/contract/expressions";

/** The same tree with every constant -0.0 written as the negation of 0.0: msgpackr writes -0 as the integer 0. */
export function spellNegativeZero(expr: Expr): Expr {
  switch (expr.node) {
    case "column":
      return expr;
    case "literal":
      if (!Object.is(expr.value, -0)) return expr;
      return {
        node: "call",
        fn: "op.neg",
        args: [{ ...expr, value: 0 }],
        kwargs: {},
        type: expr.type,
        nullable: false,
      };
    case "path":
      return { ...expr, base: spellNegativeZero(expr.base) };
    case "call":
    case "udf":
      return {
        ...expr,
        args: expr.args.map(spellNegativeZero),
        kwargs: Object.fromEntries(Object.entries(expr.kwargs).map(([name, arg]) => [name, spellNegativeZero(arg)])),
      };
  }
}
