import type { Expr } from "@appdb/contract/expressions";
import { partsOf } from "./tree.ts";

type Call = Extract<Expr, { node: "call" }>;

/** Functions that can be non-null with a null argument. The planner cannot fold their SQL to null. */
const NOT_STRICT: ReadonlySet<string> = new Set([
  "string.format",
  "op.is_null",
  "op.is_not_null",
  "op.and",
  "op.or",
  "op.when",
  "json.is_empty",
]);
const VOLATILE: ReadonlySet<string> = new Set(["uuid.uuid4", "uuid.uuid7"]);

/**
 * True when the planner may fold a call to null because one argument is null at planning time. That is a constant, or a
 * parameter with a known value. Another argument that would raise is then never evaluated.
 */
export function isFolded(expr: Call): boolean {
  if (NOT_STRICT.has(expr.fn)) return false;
  const parts = partsOf(expr);
  return parts.some((part, i) => mayBeNullConstant(part) && parts.some((other, k) => k !== i && mayRaise(other)));
}

/** Forms may repeat their arguments, and each copy of a new UUID would differ. */
export function isVolatile(expr: Expr): boolean {
  return (expr.node === "call" && VOLATILE.has(expr.fn)) || partsOf(expr).some(isVolatile);
}

function mayBeNullConstant(expr: Expr): boolean {
  if (expr.node === "literal") return expr.value === null;
  if (expr.node === "parameter") return expr.nullable;
  if (expr.node === "path") return mayBeNullConstant(expr.base);
  return expr.node === "call" && !NOT_STRICT.has(expr.fn) && partsOf(expr).some(mayBeNullConstant);
}

function mayRaise(expr: Expr): boolean {
  return expr.node === "call" || partsOf(expr).some(mayRaise);
}
