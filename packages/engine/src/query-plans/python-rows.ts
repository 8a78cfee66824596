import type { EngineValue } from "@appdb/contract/types";
import { parameterOf } from "../bound-queries/bind-query.ts";
import { kindOf } from "../kinds/kinds.ts";
import type { UdfGraph, UdfResult, UdfRunner } from "../ports.ts";
import type { NamedType } from "./query-plan.ts";
import { computeError, type FailedAt } from "./query-refusals.ts";

/** Rows in the workers at a time: enough for full chunks, and few enough for other requests. */
const IN_FLIGHT = 128;

export type QueryArguments = ReadonlyMap<string, EngineValue>;

/** Decodes rows of texts; `first` is the index of their first column. */
export function decodeRows(
  columns: readonly NamedType[],
  rows: readonly (readonly (string | null)[])[],
  first = 0,
): EngineValue[][] {
  const readers = columns.map(({ type }) => ({ type, read: kindOf(type).fromSql }));
  return rows.map((row) =>
    readers.map(({ type, read }, at) => {
      const text = row[first + at] ?? null;
      return text === null ? null : read(text, type);
    }),
  );
}

/** Locates a graph's inputs: in a row's columns, or among the request's parameters. */
export function bindInputs(
  graph: UdfGraph,
  columns: readonly NamedType[],
  args: QueryArguments,
): (row: readonly EngineValue[]) => EngineValue[] {
  const indexByName = new Map(columns.map(({ name }, at) => [name, at]));
  const sources = graph.inputs.map(({ name }) => {
    const parameter = parameterOf(name);
    if (parameter !== undefined) return { value: args.get(parameter) ?? null };
    const at = indexByName.get(name);
    if (at === undefined) throw new TypeError(`The graph reads ${name}, which the rows lack.`);
    return { at };
  });
  return (row) => sources.map((source) => ("at" in source ? (row[source.at] ?? null) : source.value));
}

/** Runs a graph on rows, many at a time; results are in row order. @throws worker_unavailable, overloaded */
export async function computeRows(
  runner: UdfRunner,
  graph: UdfGraph,
  inputs: readonly (readonly EngineValue[])[],
  signal?: AbortSignal,
): Promise<readonly UdfResult[]> {
  const results = new Array<UdfResult>(inputs.length);
  let next = 0;
  const runSome = async (): Promise<void> => {
    for (let at = next++; at < inputs.length; at = next++) {
      results[at] = await runner.run(graph, inputs[at] ?? [], signal);
    }
  };
  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, inputs.length) }, runSome));
  return results;
}

/**
 * Whether a row meets the conditions, the first `count` steps. As in SQL, one false condition excludes a row, whatever
 * the order. An error counts only for a row that no condition excludes.
 * @throws function_failed and related codes
 */
export function meetsConditions(query: string, graph: UdfGraph, count: number, result: UdfResult): boolean {
  let failed: number | undefined;
  for (let step = 0; step < count; step++) {
    if (errorOf(graph, step, result) !== undefined) failed ??= step;
    else if (result.values[step] !== true) return false;
  }
  if (failed !== undefined) throwStepError(query, graph, failed, result, { clause: "where" });
  return true;
}

/** @throws function_failed and related codes when a step of the result from `first` on has no value */
export function refuseErrors(
  query: string,
  graph: UdfGraph,
  first: number,
  result: UdfResult,
  where: (step: number) => FailedAt,
): void {
  if (result.errors === null) return;
  for (let step = first; step < graph.steps.length; step++) throwStepError(query, graph, step, result, where(step));
}

function throwStepError(query: string, graph: UdfGraph, step: number, result: UdfResult, where: FailedAt): void {
  const error = errorOf(graph, step, result);
  if (error !== undefined) throw computeError(query, where, error);
}

function errorOf(graph: UdfGraph, step: number, { errors }: UdfResult) {
  const name = graph.steps[step]?.name;
  return name === undefined ? undefined : errors?.[name];
}
