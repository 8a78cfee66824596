import type { Expr } from "@appdb/contract/expressions";
import { visit } from "../expressions/tree.ts";
import type { SqlMode } from "./relation.ts";

/** Why a part of a query is computed by Python: for `cli query explain`. */
export interface PythonReason {
  readonly clause: "where" | "value" | "select" | "aggregate" | "vector";
  /** What it computes with: functions and columns. */
  readonly what: string;
  readonly why: string;
}

/** Words the reason; `bare` is the run in which SQL had refused a value. */
export function pythonReason(clause: PythonReason["clause"], expr: Expr, mode: SqlMode): PythonReason {
  if (expr.node === "aggregate") {
    return { clause, what: expr.fn, why: `${expr.fn} is an aggregate of the application` };
  }
  const udfs = new Set<string>();
  const calls = new Set<string>();
  visit(expr, (node) => {
    if (node.node === "udf") udfs.add(node.function);
    else if (node.node === "call") calls.add(node.fn);
    else if (node.node !== "column" && node.node !== "literal") calls.add(node.node);
  });
  const what = [...udfs, ...calls].join(", ");
  if (udfs.size > 0) return { clause, what, why: `${[...udfs].join(", ")} is a function of the application` };
  if (mode === "bare") return { clause, what, why: "SQL refused a value that Python may accept" };
  return { clause, what, why: `no SQL form is known for ${[...calls].join(", ")} over these values` };
}
