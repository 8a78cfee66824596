import { appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import type { BoundQuery } from "../catalog/bind-query.ts";
import { expressionKey } from "../catalog/bind-query.ts";
import { visit } from "../expressions/tree.ts";
import { foldsOf, type GroupNames, readsRows, rowArguments } from "./groups.ts";
import type { Clauses, PlannedFold, PlanOptions } from "./query-plan.ts";

/** The application aggregates of a query, and the distinct row expressions that they take.
 *  @throws app_invalid when the application lacks such an aggregate */
export function planFolds(
  bound: BoundQuery,
  clauses: Clauses,
  grouped: GroupNames,
  functions: PlanOptions["functions"],
): { readonly folds: readonly PlannedFold[]; readonly exprs: readonly Expr[] } {
  const indexByName = new Map<string, number>();
  const exprs: Expr[] = [];
  const placeOf = (expr: Expr): number => {
    const known = indexByName.get(expressionKey(expr));
    if (known !== undefined) return known;
    indexByName.set(expressionKey(expr), exprs.length);
    return exprs.push(expr) - 1;
  };
  const folds = foldsOf(clauses).map((aggregate): PlannedFold => {
    const known = functions.get(aggregate.fn);
    if (known === undefined) throw unknownFunction(bound, aggregate.fn);
    const named = grouped.values.find(({ expr }) => expressionKey(expr) === expressionKey(aggregate));
    return {
      name: named?.name ?? "",
      type: aggregate.type,
      function: { id: known.id, module: known.module, name: known.name },
      // A join may not match the table of a non-nullable column.
      args: rowArguments(aggregate).map(({ name, expr }) => ({
        name,
        type: expr.type,
        nullable: true,
        at: placeOf(expr),
      })),
      constants: Object.fromEntries(Object.entries(aggregate.kwargs).filter(([, expr]) => !readsRows(expr))),
      output: outputOf(clauses, aggregate),
    };
  });
  return { folds, exprs };
}

/** The name of a key for people: its selected name, or the column's own. */
export function keyLabel({ select }: Clauses, key: Expr, at: number): string {
  const selected = select.find(({ expr }) => expressionKey(expr) === expressionKey(key));
  if (selected !== undefined) return selected.name;
  return key.node === "column" && !key.name.startsWith("#") ? key.name : `group_by ${at + 1}`;
}

/** The error for a call of an undeclared function. */
export function unknownFunction(bound: BoundQuery, id: string): Error {
  return appError("app_invalid", {
    detail: `The query ${bound.id} calls ${id}, which the application does not declare.`,
    hint: "Run the command again to reload the file.",
    meta: { query: bound.id, function: id },
  });
}

function outputOf({ select }: Clauses, aggregate: Expr): string {
  const key = expressionKey(aggregate);
  const selected = select.find(({ expr }) => {
    let found = false;
    visit(expr, (node) => {
      found ||= expressionKey(node) === key;
    });
    return found;
  });
  return selected?.name ?? "order_by";
}
