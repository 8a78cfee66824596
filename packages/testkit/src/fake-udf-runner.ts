import type { EngineValue } from "@appdb/contract/types";
import { runRowWise } from "@appdb/engine/compute/batch-results";
import type { RowsText } from "@appdb/engine/expressions/made-rows";
import type { UdfError, UdfGraph, UdfResult, UdfRunner } from "@appdb/engine/ports";

/** Computes a step from the graph's inputs and earlier steps, by name. A throw is an exception of the function. */
export type FakeStep = (row: Readonly<Record<string, EngineValue>>) => EngineValue | Promise<EngineValue>;

export interface FakeUdfRunner extends UdfRunner {
  /** The rows that were run, in order. */
  readonly calls: readonly (readonly EngineValue[])[];
  readonly is_disposed: boolean;
}

/** Thrown by a step: the application's code lacks its function. */
export class FunctionGone extends Error {}

/** A UdfRunner without Python: steps are functions of the test. A missing step is an error of the test. */
export function createFakeUdfRunner(steps: Readonly<Record<string, FakeStep>>): FakeUdfRunner {
  const calls: (readonly EngineValue[])[] = [];
  let isDisposed = false;
  const run: UdfRunner["run"] = async (graph, row, signal) => {
    signal?.throwIfAborted();
    calls.push(row);
    return runSteps(graph, row, steps);
  };
  return {
    calls,
    get is_disposed() {
      return isDisposed;
    },
    run,
    runBatch: (graph, columns, rows) => runRowWise(run, graph, columns, rows),
    start: async () => undefined,
    fold: async ({ function: fn }) => {
      throw new Error(`The test gives no aggregate ${fn.id}.`);
    },
    stats: () => ({
      workers: 1,
      waiting: 0,
      running: 0,
      calls: calls.length,
      restarts: 0,
      functions: {},
      pools: {},
    }),
    [Symbol.asyncDispose]: async () => {
      isDisposed = true;
    },
  };
}

async function runSteps(
  graph: UdfGraph,
  row: readonly EngineValue[],
  steps: Readonly<Record<string, FakeStep>>,
): Promise<UdfResult> {
  const known: Record<string, EngineValue> = {};
  graph.inputs.forEach((input, at) => {
    known[input.name] = row[at] ?? null;
  });
  const errors: Record<string, UdfError> = {};
  for (const { name } of graph.steps) {
    const step = steps[name];
    if (step === undefined) throw new Error(`The test gives no function for column ${name}.`);
    try {
      known[name] = await step(known);
    } catch (error) {
      known[name] = null;
      errors[name] = raised(graph, error);
    }
  }
  const values = graph.steps.map(({ name }) => known[name] ?? null);
  return { values, errors: Object.keys(errors).length === 0 ? null : errors };
}

function raised(graph: UdfGraph, error: unknown): UdfError {
  const isGone = error instanceof FunctionGone;
  return {
    kind: isGone ? "missing" : "raised",
    function: graph.functions[0]?.id ?? "op.call",
    type: isGone ? "Missing" : "ValueError",
    message: error instanceof Error ? error.message : String(error),
    at: "app.py:7",
  };
}

/** What a worker gives for a row of an iterator view's base: rows with the output `word`, one for each. */
export function rowsOfWords(words: readonly string[]): string {
  const text: RowsText = { rows: words.length, given: { word: [...words] } };
  return JSON.stringify(text);
}
