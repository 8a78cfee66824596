import { appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import type { EngineValue } from "@appdb/contract/types";
import type { Similarity } from "../catalog/similarities.ts";
import type { UdfGraph, UdfRunner } from "../ports.ts";
import { measured, type Timing } from "../timing.ts";
import { bindInputs, type QueryArguments, refuseErrors } from "./python-rows.ts";

/** How the vectors come about that a query compares those of rows with. */
export interface VectorPlan {
  readonly similarities: readonly Similarity[];
  /** Why there is nothing to compare with; null when there is. */
  readonly lacks: Error | null;
  /** Makes the vectors that are not there already, by the names of their similarities; null when all are. */
  readonly graph: UdfGraph | null;
}

/** Whether a vector comes with the request, or stands in the query. */
export function isGiven({ vector }: Similarity): boolean {
  return vector.node === "parameter" || vector.node === "literal";
}

interface Asking {
  readonly query: string;
  readonly args: QueryArguments;
  readonly udf: () => UdfRunner;
  readonly signal?: AbortSignal | undefined;
  readonly timing?: Timing | undefined;
  /** Whether the tables are as they were when the query was planned. */
  isCurrent(): Promise<boolean>;
}

/**
 * The arguments of a request with the vectors that it asks for, as texts under the names of their similarities: made once,
 * before any row is looked at. Null where what is asked for is null; undefined when a table has another version by now.
 * @throws schema_changed when there is no index to ask; invalid_request for a vector of another length or with what is no number; function_failed and its kin
 */
export async function askVectors(
  { similarities, lacks, graph }: VectorPlan,
  { query, args, udf, signal, timing, isCurrent }: Asking,
): Promise<QueryArguments | undefined> {
  if (similarities.length === 0) return args;
  if (lacks !== null) {
    if (await isCurrent()) throw lacks;
    return undefined;
  }
  const found = new Map(args);
  for (const similarity of similarities) {
    if (isGiven(similarity)) found.set(similarity.name, givenVector(similarity, args));
  }
  if (graph === null) return found;
  const result = await measured(
    timing,
    "py",
    udf().run(graph, bindInputs(graph, [], args)([]), signal),
    graph.functions,
  );
  refuseErrors(query, graph, 0, result, () => ({ clause: "similarity" }));
  graph.steps.forEach(({ name }, at) => {
    found.set(name, result.values[at] ?? null);
  });
  return found;
}

function givenVector({ vector, dimensions, label }: Similarity, args: QueryArguments): EngineValue {
  const value = vector.node === "parameter" ? (args.get(vector.name) ?? null) : literalValue(vector);
  if (value === null) return null;
  // An array has been read already: its text is a list of finite numbers, or of lists.
  if (vector.type.dtype !== undefined && countNumbers(String(value)) === dimensions) return value;
  const numbers: unknown = JSON.parse(String(value));
  const wrong = misfit(numbers, dimensions);
  if (wrong === undefined) return JSON.stringify(numbers);
  const name = vector.node === "parameter" ? vector.name : "vector";
  throw appError("invalid_request", {
    detail: `${name}: ${wrong}, and the embedding index on ${label} has vectors of ${dimensions} numbers.`,
    hint: `Send a list of ${dimensions} numbers.`,
    errors: [{ pointer: `/${name}`, detail: `${wrong}; expected a list of ${dimensions} numbers.` }],
  });
}

/** Of a flat list. */
function countNumbers(text: string): number | undefined {
  return text.lastIndexOf("[") > 0 || text.length < 3 ? undefined : text.split(",").length;
}

function misfit(value: unknown, dimensions: number): string | undefined {
  if (!Array.isArray(value)) return "The value is not a list";
  if (value.length !== dimensions) return `The vector has ${value.length} numbers`;
  const at = value.findIndex((number) => typeof number !== "number" || !Number.isFinite(number));
  return at < 0 ? undefined : `Element ${at} of the vector is not a number`;
}

function literalValue(expr: Expr): string | null {
  return expr.node !== "literal" || expr.value === null ? null : String(expr.value);
}
