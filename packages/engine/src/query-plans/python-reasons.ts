import type { Expr } from "@appdb/contract/expressions";
import { visit } from "../expressions/tree.ts";
import type { SqlMode } from "./relation.ts";

/** Why Python computes a part of a query, for `cli query explain`. */
export interface PythonReason {
  readonly clause: "where" | "value" | "select" | "aggregate" | "vector" | "file";
  /** Its inputs: functions and columns. */
  readonly what: string;
  readonly reason: string;
}

/** Makes the text of the reason. `bare`: the run after SQL refused a value. */
export function pythonReason(clause: PythonReason["clause"], expr: Expr, mode: SqlMode): PythonReason {
  if (expr.node === "aggregate" || expr.node === "window") {
    return { clause, what: expr.fn, reason: `${expr.fn} is an aggregate of the application` };
  }
  const udfs = new Set<string>();
  const calls = new Set<string>();
  visit(expr, (node) => {
    if (node.node === "udf") udfs.add(node.function);
    else if (node.node === "call") calls.add(node.fn);
    else if (node.node !== "column" && node.node !== "literal") calls.add(node.node);
  });
  const what = [...udfs, ...calls].join(", ");
  if (udfs.size > 0) return { clause, what, reason: `${[...udfs].join(", ")} is a function of the application` };
  if (mode === "bare") return { clause, what, reason: "SQL refused a value that Python may accept" };
  return { clause, what, reason: `${[...calls].join(", ")} has no SQL form for these values` };
}
