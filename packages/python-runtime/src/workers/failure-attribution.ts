import type { Expr } from "@appdb/contract/expressions";
import type { GraphStep } from "@appdb/contract/worker-protocol";
import { partsOf, visit } from "@appdb/engine/expressions/tree";
import type { UdfError, UdfGraph, UdfResult } from "@appdb/engine/ports";

/** How a worker ended while it ran a row. `step` and `function` are those that ran, if known. */
export type FailureAttribution = { step?: number; function?: string } & (
  | { kind: "died"; reason: string }
  | { kind: "timeout"; timeout_ms: number }
  | { kind: "memory"; memory_mb: number }
);

/**
 * Result of a row that ended its worker: no values. The step that ran gets the error, or if unknown all steps that call
 * functions. All others are skipped.
 */
export function failedResult(graph: UdfGraph, blame: FailureAttribution): UdfResult {
  const errors: Record<string, UdfError> = {};
  const names = graph.steps.map((step, number) => chargedName(step, number, blame));
  for (const [number, step] of graph.steps.entries()) {
    const name = names[number];
    // A graph without functions can run out of memory too; then every step gets the error.
    if (name !== undefined || names.every((name) => name === undefined))
      errors[step.name] = attributedError(name ?? step.name, blame);
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

/** Function or step to name for a failed step: the one known to have run, otherwise the first. */
function chargedName({ expr, name }: GraphStep, number: number, blame: FailureAttribution): string | undefined {
  if (blame.step !== undefined && blame.step !== number) return undefined;
  if (blame.function !== undefined && functionsOf(expr).includes(blame.function)) return blame.function;
  if (blame.step !== undefined) return firstFunction(expr) ?? name;
  return blame.function === undefined ? firstFunction(expr) : undefined;
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
