import type { Expr } from "@appdb/contract/expressions";
import { type BoundQuery, expressionKey, mapExpressions, parametersAsColumns } from "../bound-queries/bind-query.ts";
import type { CatalogFunction } from "../catalog/catalog.ts";
import { compileSql, ROW_COLUMNS } from "../expressions/compile-sql.ts";
import { mapParts, visit } from "../expressions/tree.ts";
import { isMedia } from "../kinds/media.ts";
import type { UdfGraph, UdfRunner } from "../ports.ts";
import { measured, type Timing } from "../timing.ts";
import { type PythonReason, pythonReason } from "./python-reasons.ts";
import { bindInputs, type QueryArguments, refuseErrors } from "./python-rows.ts";
import { queryGraph } from "./query-graph.ts";

/** A query whose values of files are parameters, and the graph that computes these; null for none. */
export interface WithFileValues {
  readonly bound: BoundQuery;
  readonly files: UdfGraph | null;
  readonly reasons: readonly PythonReason[];
}

/**
 * Replaces what Python computes from files of the request alone, such as `brightness(picture)`, by parameters. Otherwise the
 * file would be decoded for each row. Other functions of parameters stay: they may give each row its own value.
 */
export function withFileValues(bound: BoundQuery, functions: ReadonlyMap<string, CatalogFunction>): WithFileValues {
  const files = new Set(bound.parameters.filter(({ type }) => isMedia(type.kind)).map(({ name }) => name));
  if (files.size === 0) return { bound, files: null, reasons: [] };
  const found = new Map<string, { readonly name: string; readonly expr: Expr }>();
  const replace = (expr: Expr): Expr => {
    if (!isOfFiles(expr, files) || hasForm(expr, files)) return mapParts(expr, replace);
    const key = expressionKey(expr);
    // No parameter of an application has this sign in its name.
    const value = found.get(key) ?? { name: `#file${found.size}`, expr };
    found.set(key, value);
    return { node: "parameter", name: value.name, type: expr.type, nullable: true };
  };
  const query = mapExpressions(bound.query, replace);
  if (found.size === 0) return { bound, files: null, reasons: [] };
  const values = [...found.values()];
  const parameters = values.map(({ name, expr }) => {
    return { name, type: expr.type, nullable: true, kind: "keyword_only", is_batched: false } as const;
  });
  return {
    bound: { ...bound, query, parameters: [...bound.parameters, ...parameters] },
    files: queryGraph(bound, values, functions),
    reasons: values.map(({ expr }) => pythonReason("file", expr, "forms")),
  };
}

/** Adds the values of files to a request's arguments, once before any row is read. @throws function_failed and related codes */
export async function computeFileValues(
  graph: UdfGraph,
  query: string,
  args: QueryArguments,
  { udf, signal, timing }: { udf: () => UdfRunner; signal?: AbortSignal | undefined; timing?: Timing | undefined },
): Promise<QueryArguments> {
  const inputs = bindInputs(graph, [], args)([]);
  const result = await measured(timing, "py", udf().run(graph, inputs, signal), graph.functions);
  refuseErrors(query, graph, 0, result, () => ({ clause: "parameters" }));
  return new Map([...args, ...graph.steps.map(({ name }, at) => [name, result.values[at] ?? null] as const)]);
}

/** Whether an expression has an SQL form over the values of its parts, as `brightness(picture) > n` does. */
function hasForm(expr: Expr, files: ReadonlySet<string>): boolean {
  const known = mapParts(expr, (part) =>
    isOfFiles(part, files) ? { node: "parameter", name: "value", type: part.type, nullable: true } : part,
  );
  return compileSql(parametersAsColumns(known), ROW_COLUMNS) !== undefined;
}

/** Whether an expression reads files and nothing of rows, and has no SQL form. */
function isOfFiles(expr: Expr, files: ReadonlySet<string>): boolean {
  if (expr.node === "parameter") return false;
  let readsFiles = false;
  let readsRows = false;
  visit(expr, (node) => {
    if (node.node === "parameter") readsFiles ||= files.has(node.name);
    readsRows ||= OF_ROWS.has(node.node);
  });
  return readsFiles && !readsRows && compileSql(parametersAsColumns(expr), ROW_COLUMNS) === undefined;
}

const OF_ROWS: ReadonlySet<Expr["node"]> = new Set([
  "column",
  "cell_error",
  "aggregate",
  "window",
  "similarity",
  "query",
  "item",
]);
