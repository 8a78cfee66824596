import type { Expr } from "@appdb/contract/expressions";
import { visit } from "./tree.ts";

/** The names of the columns that an expression reads, each once, in the order in which they are written. */
export function referencedColumns(expr: Expr): string[] {
  const names = new Set<string>();
  visit(expr, (node) => {
    if (node.node === "column") names.add(node.name);
  });
  return [...names];
}

/** The ids of the application's functions that an expression calls, each once. */
export function udfsOf(expr: Expr): string[] {
  const ids = new Set<string>();
  visit(expr, (node) => {
    if (node.node === "udf") ids.add(node.function);
  });
  return [...ids];
}
