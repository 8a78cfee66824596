import type { Expr } from "@appdb/contract/expressions";
import { expressionKey, referenceNode } from "../catalog/bind-query.ts";
import { mapParts, visit } from "../expressions/tree.ts";
import type { Clauses } from "./query-plan.ts";

type Aggregate = Extract<Expr, { node: "aggregate" }>;

export function aggregatesOf(clauses: Clauses): Aggregate[] {
  const found = new Map<string, Aggregate>();
  for (const { expr } of [...clauses.select, ...clauses.order_by]) {
    visit(expr, (node) => {
      if (node.node === "aggregate") found.set(expressionKey(node), node);
    });
  }
  return [...found.values()];
}

/** The application aggregates, which Python computes. */
export function foldsOf(clauses: Clauses): Aggregate[] {
  return aggregatesOf(clauses).filter((aggregate) => aggregate.is_udf);
}

export function isGrouped(clauses: Clauses): boolean {
  return clauses.group_by.length > 0 || aggregatesOf(clauses).length > 0;
}

/** The same groups without application aggregates. */
export function withoutFolds(grouped: GroupNames): GroupNames {
  return { ...grouped, values: grouped.values.filter(({ expr }) => expr.node !== "aggregate" || !expr.is_udf) };
}

/** The row-dependent arguments of an aggregate; the others are constants. */
export function rowArguments(aggregate: Aggregate): { readonly name: string | null; readonly expr: Expr }[] {
  const named = Object.entries(aggregate.kwargs).map(([name, expr]) => ({ name, expr }));
  return [
    ...aggregate.args.map((expr) => ({ name: null, expr })),
    ...named.filter(({ expr }) => !aggregate.is_udf || readsRows(expr)),
  ];
}

export function readsRows(expr: Expr): boolean {
  let found = false;
  visit(expr, (node) => {
    found ||= node.node === "column";
  });
  return found;
}

export interface GroupNames {
  /** Keys first, then aggregates. */
  readonly values: readonly { readonly name: string; readonly expr: Expr }[];
  readonly keys: number;
  /** Rewrites an expression over a group's rows as one over the group's values. */
  replace(expr: Expr): Expr;
}

/** Names the values of a group. */
export function groupNames(clauses: Clauses): GroupNames {
  const keys = clauses.group_by.map((expr, at) => ({ name: `#g${at}`, expr }));
  const aggregates = aggregatesOf(clauses).map((expr, at) => ({ name: `#a${at}`, expr: expr as Expr }));
  const values = [...keys, ...aggregates];
  const byKey = new Map(values.map(({ name, expr }) => [expressionKey(expr), referenceNode(name, expr)]));
  const replace = (expr: Expr): Expr => byKey.get(expressionKey(expr)) ?? mapParts(expr, replace);
  return { values, keys: keys.length, replace };
}
