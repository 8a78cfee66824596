import { appError } from "@appdb/contract/errors";
import type { Expr } from "@appdb/contract/expressions";
import type { EngineValue } from "@appdb/contract/types";
import type { Similarity } from "../bound-queries/similarities.ts";
import type { UdfGraph, UdfRunner } from "../ports.ts";
import { measured, type Timing } from "../timing.ts";
import { bindInputs, type QueryArguments, refuseErrors } from "./python-rows.ts";

/** How the vectors for a query's comparison are made. */
export interface VectorPlan {
  readonly similarities: readonly Similarity[];
  /** The error when no index is available; null otherwise. */
  readonly missing: Error | null;
  /** Computes the missing vectors, by similarity name; null when none is missing. */
  readonly graph: UdfGraph | null;
}

/** Whether a vector is in the request or in the query itself. */
export function isInputVector({ vector }: Similarity): boolean {
  return vector.node === "parameter" || vector.node === "literal";
}

interface Asking {
  readonly query: string;
  readonly args: QueryArguments;
  readonly udf: () => UdfRunner;
  readonly signal?: AbortSignal | undefined;
  readonly timing?: Timing | undefined;
  /** Whether the tables have not changed since the query was planned. */
  isCurrent(): Promise<boolean>;
}

/**
 * Adds the required vectors to a request's arguments, as texts under the names of their similarities. They are made
 * once, before any row is read. Null where the requested value is null; undefined when a table version has changed.
 * @throws schema_changed when no index is available; invalid_request for a vector of another length or with other
 * elements than numbers; function_failed and related codes
 */
export async function askVectors(
  { similarities, missing, graph }: VectorPlan,
  { query, args, udf, signal, timing, isCurrent }: Asking,
): Promise<QueryArguments | undefined> {
  if (similarities.length === 0) return args;
  if (missing !== null) {
    if (await isCurrent()) throw missing;
    return undefined;
  }
  const found = new Map(args);
  for (const similarity of similarities) {
    if (isInputVector(similarity)) found.set(similarity.name, inputVector(similarity, args));
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

function inputVector({ vector, dimensions, label }: Similarity, args: QueryArguments): EngineValue {
  const value = vector.node === "parameter" ? (args.get(vector.name) ?? null) : literalValue(vector);
  if (value === null) return null;
  // An array has already been parsed: its text is a list of finite numbers, or of lists.
  if (vector.type.dtype !== undefined && countNumbers(String(value)) === dimensions) return value;
  const numbers: unknown = JSON.parse(String(value));
  const wrong = describeMisfit(numbers, dimensions);
  if (wrong === undefined) return JSON.stringify(numbers);
  const name = vector.node === "parameter" ? vector.name : "vector";
  throw appError("invalid_request", {
    detail: `${name}: ${wrong}, but the embedding index on ${label} has vectors of ${dimensions} numbers.`,
    hint: `Send a list of ${dimensions} numbers.`,
    errors: [{ pointer: `/${name}`, detail: `${wrong}; expected a list of ${dimensions} numbers.` }],
  });
}

/** For a flat list. */
function countNumbers(text: string): number | undefined {
  return text.lastIndexOf("[") > 0 || text.length < 3 ? undefined : text.split(",").length;
}

function describeMisfit(value: unknown, dimensions: number): string | undefined {
  if (!Array.isArray(value)) return "The value is not a list";
  if (value.length !== dimensions) return `The vector has ${value.length} numbers`;
  const at = value.findIndex((number) => typeof number !== "number" || !Number.isFinite(number));
  return at < 0 ? undefined : `Element ${at} of the vector is not a number`;
}

function literalValue(expr: Expr): string | null {
  return expr.node !== "literal" || expr.value === null ? null : String(expr.value);
}
