import type { Expr } from "@appdb/contract/expressions";
import { visit } from "./tree.ts";

/** The distinct columns of its row that an expression depends on, in order of appearance, by their values or their cell errors. */
export function referencedColumns(expr: Expr): string[] {
  const names = new Set<string>();
  visit(expr, (node) => {
    if (isElsewhere(node)) return;
    if (node.node === "column") names.add(node.name);
    else if (node.node === "cell_error") names.add(node.column);
  });
  return [...names];
}

/** The distinct columns whose values an expression reads. */
export function valuesRead(expr: Expr): string[] {
  const names = new Set<string>();
  visit(expr, (node) => {
    if (node.node === "column" && !isElsewhere(node)) names.add(node.name);
  });
  return [...names];
}

/** The distinct columns whose cell errors an expression reads. */
export function cellErrorsRead(expr: Expr): string[] {
  const names = new Set<string>();
  visit(expr, (node) => {
    if (node.node === "cell_error" && !isElsewhere(node)) names.add(node.column);
  });
  return [...names];
}

/** Whether a node reads a row that the expression itself makes (made-rows.ts), not the row at hand. */
function isElsewhere(node: Expr): boolean {
  return (node.node === "column" || node.node === "cell_error") && node.of !== undefined;
}

/** The ids of the distinct application functions that an expression calls. */
export function udfsOf(expr: Expr): string[] {
  const ids = new Set<string>();
  visit(expr, (node) => {
    if (node.node === "udf") ids.add(node.function);
  });
  return [...ids];
}
