import type { Expr } from "@appdb/contract/expressions";
import { expressionKey, referenceNode } from "../bound-queries/bind-query.ts";
import { mapParts, partsOf, visit } from "../expressions/tree.ts";
import { isMedia } from "../kinds/media.ts";
import type { Clauses } from "./query-plan.ts";

export type Aggregate = Extract<Expr, { node: "aggregate" }>;
export type Window = Extract<Expr, { node: "window" }>;

export function aggregatesOf(clauses: Clauses): Aggregate[] {
  return nodesOf(clauses, (node) => (node.node === "aggregate" ? node : undefined));
}

/** The windows of a query, which have no groups. */
export function windowsOf(clauses: Clauses): Window[] {
  return nodesOf(clauses, (node) => (node.node === "window" ? node : undefined));
}

function nodesOf<T extends Expr>({ select, order_by: orderBy }: Clauses, pick: (node: Expr) => T | undefined): T[] {
  const found = new Map<string, T>();
  for (const { expr } of [...select, ...orderBy]) {
    visit(expr, (node) => {
      const picked = pick(node);
      if (picked !== undefined) found.set(expressionKey(node), picked);
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
export function rowArguments(aggregate: Aggregate | Window): { readonly name: string | null; readonly expr: Expr }[] {
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

/** The values that an aggregate groups and sorts rows by. */
export function keysOf(aggregate: Aggregate | Window): readonly Expr[] {
  return aggregate.node === "window" ? [...aggregate.group_by, ...aggregate.order_by] : (aggregate.order_by ?? []);
}

/**
 * Whether the worker of an application aggregate can compute the argument from the columns that it reads. Functions of the
 * application have other limits there, and a file of the request cannot be part of an expression.
 */
export function isForAggregate(expr: Expr): boolean {
  if (expr.node === "udf" || expr.node === "query") return false;
  if (expr.node === "parameter") return !isMedia(expr.type.kind);
  // The run of an iterator that is read again.
  const [run, ...others] = expr.node === "call" && expr.fn === "op.reread" ? expr.args : [];
  return (run === undefined ? partsOf(expr) : [...partsOf(run), ...others]).every(isForAggregate);
}

/** Names for the windows of a query. */
export function windowNames(clauses: Clauses): {
  readonly values: readonly { readonly name: string; readonly expr: Window }[];
  replace(expr: Expr): Expr;
} {
  const values = windowsOf(clauses).map((expr, at) => ({ name: `#w${at}`, expr }));
  const byKey = new Map(values.map(({ name, expr }) => [expressionKey(expr), referenceNode(name, expr)]));
  const replace = (expr: Expr): Expr => byKey.get(expressionKey(expr)) ?? mapParts(expr, replace);
  return { values, replace };
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
