import type { Expr } from "@appdb/contract/expressions";
import { partsOf, visit } from "@appdb/engine/expressions/tree";
import type { UdfError, UdfGraph, UdfResult } from "@appdb/engine/ports";

/** How a worker ended while it ran a row. */
export type FailureAttribution =
  | { kind: "died"; reason: string }
  /** `function` is the one that ran, if known. */
  | { kind: "timeout"; timeout_ms: number; function?: string }
  | { kind: "memory"; memory_mb: number };

/**
 * Result of a row that ended its worker: no values. Steps that call functions get the error, all others are skipped.
 */
export function failedResult(graph: UdfGraph, blame: FailureAttribution): UdfResult {
  const errors: Record<string, UdfError> = {};
  const known = blame.kind === "timeout" ? blame.function : undefined;
  const charged = graph.steps.filter((step) => chargedFunction(step.expr, known) !== undefined);
  for (const step of graph.steps) {
    const name = chargedFunction(step.expr, known);
    // A graph without functions can run out of memory too; then every step gets the error.
    if (name !== undefined || charged.length === 0) errors[step.name] = attributedError(name ?? step.name, blame);
    else errors[step.name] = skippedError(step.name);
  }
  return { values: graph.steps.map(() => null), errors };
}

function attributedError(name: string, blame: FailureAttribution): UdfError {
  switch (blame.kind) {
    case "died":
      return {
        kind: "died",
        function: name,
        type: "WorkerDied",
        message: `the worker process ended (${blame.reason}) while it ran this row`,
        at: null,
      };
    case "timeout":
      return {
        kind: "timeout",
        function: name,
        type: "TimeoutError",
        message: `ran longer than ${blame.timeout_ms / 1000} s`,
        at: null,
      };
    case "memory":
      return {
        kind: "memory",
        function: name,
        type: "MemoryError",
        message: `used more than ${blame.memory_mb} MB of memory`,
        at: null,
      };
  }
}

function skippedError(step: string): UdfError {
  const message = "was not computed because the worker process ended";
  return { kind: "skipped", function: step, type: "Skipped", message, at: null };
}

/** Function of a failed step: the one known to have run, otherwise the first. */
function chargedFunction(expr: Expr, known: string | undefined): string | undefined {
  if (known === undefined) return firstFunction(expr);
  return functionsOf(expr).includes(known) ? known : undefined;
}

function functionsOf(expr: Expr): string[] {
  const found: string[] = [];
  visit(expr, (node) => {
    if (node.node === "udf") found.push(node.function);
  });
  return found;
}

/** First function of the application in the order of the expression tree. */
function firstFunction(expr: Expr): string | undefined {
  if (expr.node === "udf") return expr.function;
  for (const part of partsOf(expr)) {
    const name = firstFunction(part);
    if (name !== undefined) return name;
  }
  return undefined;
}
