import type { Expr } from "@appdb/contract/expressions";
import type { EngineValue } from "@appdb/contract/types";
import { referencedColumns } from "../expressions/needs-python.ts";
import type { JsonCheck, JsonChecks } from "../kinds/json-checks.ts";
import type { UdfError, UdfGraph, UdfResult, UdfRunner } from "../ports.ts";
import { runRowWise } from "./batch-results.ts";

type Steps = UdfGraph["steps"];

/**
 * The same runner with checks against the columns' JSON Schemas. A violation is an error of its cell, and readers of
 * the cell are skipped, as if the function had raised.
 */
export function withJsonChecks(runner: UdfRunner, checks: JsonChecks): UdfRunner {
  const compiled = new WeakMap<UdfGraph, readonly (JsonCheck | undefined)[] | null>();
  const checksOf = (graph: UdfGraph): readonly (JsonCheck | undefined)[] | null => {
    let found = compiled.get(graph);
    if (found === undefined) {
      const each = graph.steps.map((step) => checks.of(step.type));
      found = each.some((check) => check !== undefined) ? each : null;
      compiled.set(graph, found);
    }
    return found;
  };
  const run: UdfRunner["run"] = async (graph, row, signal) => {
    const result = await runner.run(graph, row, signal);
    const each = checksOf(graph);
    return each === null ? result : checked(graph.steps, each, result);
  };
  return {
    run,
    runBatch: (graph, columns, rows) => {
      if (checksOf(graph) === null) return runner.runBatch(graph, columns, rows);
      return runRowWise(run, graph, columns, rows);
    },
    start: () => runner.start(),
    fold: (aggregation) => runner.fold(aggregation),
    stats: () => runner.stats(),
    [Symbol.asyncDispose]: () => runner[Symbol.asyncDispose](),
  };
}

function checked(steps: Steps, checks: readonly (JsonCheck | undefined)[], result: UdfResult): UdfResult {
  let values: EngineValue[] | undefined;
  const errors: Record<string, UdfError> = { ...result.errors };
  for (const [at, step] of steps.entries()) {
    if (errors[step.name] !== undefined) continue;
    const error = misfitOf(step, checks[at], result.values[at] ?? null) ?? causeOf(step, values, errors);
    if (error === undefined) continue;
    values ??= [...result.values];
    values[at] = null;
    errors[step.name] = error;
  }
  return values === undefined ? result : { ...result, values, errors };
}

function misfitOf(step: Steps[number], check: JsonCheck | undefined, value: EngineValue): UdfError | undefined {
  const misfit = check === undefined || value === null ? undefined : check(JSON.parse(String(value)));
  if (misfit === undefined) return undefined;
  const name = functionOf(step.expr);
  const location = misfit.pointer === "" ? "" : `${misfit.pointer}: `;
  return { kind: "wrong_type", function: name, type: "ValueError", message: location + misfit.detail, at: null };
}

function functionOf(expr: Expr): string {
  if (expr.node === "udf") return expr.function;
  return expr.node === "call" ? expr.fn : expr.node;
}

/** The error of a step that read a refused value. Steps that the worker skipped already have their errors. */
function causeOf(
  step: Steps[number],
  values: readonly EngineValue[] | undefined,
  errors: Readonly<Record<string, UdfError>>,
): UdfError | undefined {
  if (values === undefined) return undefined;
  const cause = referencedColumns(step.expr)
    .map((name) => errors[name])
    .find((error) => error !== undefined);
  return cause === undefined ? undefined : { ...cause, kind: "skipped" };
}
