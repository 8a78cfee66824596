import type { Expr } from "@appdb/contract/expressions";
import { visit } from "./tree.ts";

/**
 * The names of the columns that an expression hangs on, each once, in the order in which they are written: those whose
 * values it reads, and those whose cell errors it reads.
 */
export function referencedColumns(expr: Expr): string[] {
  const names = new Set<string>();
  visit(expr, (node) => {
    if (node.node === "column") names.add(node.name);
    else if (node.node === "cell_error") names.add(node.column);
  });
  return [...names];
}

/** The names of the columns whose values an expression reads, each once. */
export function valuesRead(expr: Expr): string[] {
  const names = new Set<string>();
  visit(expr, (node) => {
    if (node.node === "column") names.add(node.name);
  });
  return [...names];
}

/** The names of the columns whose cell errors an expression reads, each once. */
export function cellErrorsRead(expr: Expr): string[] {
  const names = new Set<string>();
  visit(expr, (node) => {
    if (node.node === "cell_error") names.add(node.column);
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
