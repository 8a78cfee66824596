import type { Expr } from "@appdb/contract/expressions";
import { mapParts } from "../expressions/tree.ts";
import type { Clauses } from "./query-plan.ts";

/** The conditions that are joined by AND. */
export function conjuncts(where: Expr | null): Expr[] {
  if (where === null) return [];
  if (where.node !== "call" || where.fn !== "op.and") return [where];
  return where.args.flatMap(conjuncts);
}

/** All expressions of the clauses. */
export function clausesExprs({ where, group_by: groupBy, select, order_by: orderBy }: Clauses): Expr[] {
  return [...where, ...groupBy, ...select.map(({ expr }) => expr), ...orderBy.map(({ expr }) => expr)];
}

/** The clauses with each part for which `found` returns another expression. */
export function replaceIn(clauses: Clauses, found: (expr: Expr) => Expr | undefined): Clauses {
  const replace = (expr: Expr): Expr => found(expr) ?? mapParts(expr, replace);
  return {
    where: clauses.where.map(replace),
    group_by: clauses.group_by.map(replace),
    select: clauses.select.map(({ name, expr }) => ({ name, expr: replace(expr) })),
    order_by: clauses.order_by.map(({ expr, asc }) => ({ expr: replace(expr), asc })),
  };
}
