import type { Expr } from "@appdb/contract/expressions";

/** The direct parts of an expression, in written order. */
export function partsOf(expr: Expr): readonly Expr[] {
  switch (expr.node) {
    case "call":
    case "udf":
      return [...expr.args, ...Object.values(expr.kwargs)];
    case "aggregate":
      return [...expr.args, ...Object.values(expr.kwargs), ...(expr.order_by ?? [])];
    case "window":
      return [...expr.args, ...Object.values(expr.kwargs), ...expr.group_by, ...expr.order_by];
    case "path":
      return [expr.base];
    case "dict":
      return expr.entries.map((entry) => entry.value);
    case "list":
      return expr.items;
    case "query":
      return Object.values(expr.args);
    case "similarity":
      return [expr.value];
    case "column":
    case "literal":
    case "item":
    case "cell_error":
    case "parameter":
      return [];
  }
}

/** The same expression with each direct part replaced by `change`. */
export function mapParts(expr: Expr, change: (part: Expr) => Expr): Expr {
  switch (expr.node) {
    case "call":
    case "udf":
      return { ...expr, args: expr.args.map(change), kwargs: mapValues(expr.kwargs, change) };
    case "aggregate":
      return withOrder({ ...expr, args: expr.args.map(change), kwargs: mapValues(expr.kwargs, change) }, change);
    case "window":
      return {
        ...expr,
        args: expr.args.map(change),
        kwargs: mapValues(expr.kwargs, change),
        group_by: expr.group_by.map(change),
        order_by: expr.order_by.map(change),
      };
    case "path":
      return { ...expr, base: change(expr.base) };
    case "dict":
      return { ...expr, entries: expr.entries.map(({ key, value }) => ({ key, value: change(value) })) };
    case "list":
      return { ...expr, items: expr.items.map(change) };
    case "query":
      return { ...expr, args: mapValues(expr.args, change) };
    case "similarity":
      return { ...expr, value: change(expr.value) };
    case "column":
    case "literal":
    case "item":
    case "cell_error":
    case "parameter":
      return expr;
  }
}

/** Calls `onNode` for an expression and all its parts, each before its own parts. */
export function visit(expr: Expr, onNode: (node: Expr) => void): void {
  onNode(expr);
  for (const part of partsOf(expr)) visit(part, onNode);
}

function withOrder(expr: Extract<Expr, { node: "aggregate" }>, change: (part: Expr) => Expr): Expr {
  return expr.order_by === undefined ? expr : { ...expr, order_by: expr.order_by.map(change) };
}

function mapValues(parts: Readonly<Record<string, Expr>>, change: (part: Expr) => Expr): Record<string, Expr> {
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, change(part)]));
}
