import type { Expr } from "@appdb/contract/expressions";
import type { EngineValue } from "@appdb/contract/types";
import type { Catalog, CatalogColumn, CatalogTable } from "../catalog/catalog.ts";
import { shownOf, shownRowKey, shownValue } from "../catalog/shown-values.ts";
import { resultOf } from "../compute/batch-results.ts";
import { ownErrors, spreadErrors } from "../compute/cell-errors.ts";
import { planCompute, planPython, type SqlStep } from "../compute/plan-compute.ts";
import { madeRowsIn, type RowsText } from "../expressions/made-rows.ts";
import { valuesRead } from "../expressions/needs-python.ts";
import type { LazyRunner } from "../jobs/fills/run-rows.ts";
import { arrayText, fromSqlText } from "../kinds/values.ts";
import type { SqlConnection, UdfGraph, UdfResult } from "../ports.ts";
import { SqlError } from "../ports.ts";
import { rowKey } from "../views/row-keys.ts";
import { type ColumnSources, computeSample, selectSample } from "./sample-statement.ts";

/** A row of a sample: its key, and the values of computed columns in plan form. */
export interface SampledRow {
  readonly key: Readonly<Record<string, unknown>>;
  readonly old: ReadonlyMap<string, unknown>;
  readonly new: ReadonlyMap<string, unknown>;
  readonly errors: ReadonlyMap<string, string>;
}

export interface SampleInput {
  readonly before: CatalogTable;
  readonly after: CatalogTable;
  readonly sources: ColumnSources;
  /** Computed columns, with their names after the update. */
  readonly columns: readonly string[];
  readonly functions: Catalog["functions"];
  readonly tables: Catalog["tables"];
  /** SQL over a row, under `t`, of those that may be in the sample. */
  readonly scope: string;
}

export interface SampleDeps {
  readonly sql: SqlConnection;
  readonly runner: LazyRunner;
  /** Time limit of the functions for a batch. */
  readonly wait_ms: number;
}

/** The computed rows of a batch, and the start of the next one. */
export interface SampledBatch {
  readonly rows: readonly SampledRow[];
  readonly cursor: string | null;
  /** False when the time limit ended the batch early. */
  readonly is_complete: boolean;
}

/** Computes columns of some rows like an update, and stores nothing.
 *  @throws worker_unavailable, schema_mismatch, the abort's reason */
export async function sampleBatch(
  deps: SampleDeps,
  input: SampleInput,
  { cursor, limit }: { readonly cursor: string | null; readonly limit: number },
  signal: AbortSignal,
): Promise<SampledBatch> {
  const { graph, sql } = planCompute(input.after, input.functions, input.columns);
  try {
    return await compute(deps, input, { graph, steps: sql, cursor, limit }, signal);
  } catch (error) {
    // Class 22: SQL refuses a value. Python may have one, or an exception with more detail.
    if (!(error instanceof SqlError) || !error.sqlstate.startsWith("22") || sql.length === 0) throw error;
    const python = planPython(input.after, input.functions, input.columns);
    return compute(deps, input, { graph: python, steps: [], cursor, limit }, signal);
  }
}

interface Batch {
  readonly graph: UdfGraph | null;
  readonly steps: readonly SqlStep[];
  readonly cursor: string | null;
  readonly limit: number;
}

async function compute(deps: SampleDeps, input: SampleInput, batch: Batch, signal: AbortSignal): Promise<SampledBatch> {
  const { before, after, sources, columns } = input;
  const { graph, cursor, limit } = batch;
  const key = rowKey(before, input.tables, "t");
  const previous = columns.flatMap((name) => {
    const id = after.columns.find((column) => column.name === name)?.id;
    return before.columns.filter((column) => column.id === id).map((column) => ({ name, column }));
  });
  const shown = previous.map(({ column }) => column);
  const first = 1 + key.columns.length;
  const inputs = graph?.inputs ?? [];
  const text = selectSample(
    before,
    { key, columns: shown, inputs: inputs.map((input) => input.name), scope: input.scope },
    sources,
  );
  const read = (await deps.sql.query({ text, values: [cursor, limit] })).rows;
  const rows = read.map((values): ReadRow => {
    const given = inputs.map((input, at) => {
      const value = values[first + shown.length + at] ?? null;
      return value === null ? null : fromSqlText(input.type, value);
    });
    return { id: values[0] ?? "", inputs: given };
  });
  const computed = await runGraph(deps, graph, rows, signal);
  const done = rows.slice(0, computed.length);
  const stepped = await runSteps(deps, input, batch, done, computed);
  const sampled = done.map((row, at): SampledRow => {
    const values = read[at] ?? [];
    const result = computed[at];
    const failed = result?.errors == null ? {} : ownErrors(result.errors);
    const errors = spreadErrors(after, new Set(columns), failed);
    const old = previous.map(({ name, column }, which) => {
      return [name, shownValue(column, values[first + which] ?? null)] as const;
    });
    const fromGraph = (graph?.steps ?? []).map((step, which) => {
      const value = result?.values[which] ?? null;
      return [step.name, countOfMade(step.expr, value) ?? shownOf(step.type.kind, value)] as const;
    });
    return {
      key: shownRowKey(key.columns, values.slice(1)),
      old: new Map(old),
      new: new Map([...fromGraph, ...(stepped.get(row.id) ?? [])]),
      errors: new Map(Object.entries(errors).map(([name, error]) => [name, `${error.type}: ${error.message}`])),
    };
  });
  const next = rows.length < limit ? null : (rows.at(-1)?.id ?? null);
  return { rows: sampled, cursor: next, is_complete: computed.length === rows.length };
}

interface ReadRow {
  readonly id: string;
  readonly inputs: readonly EngineValue[];
}

type Computed = readonly UdfResult[];

async function runGraph(
  { runner, wait_ms: waitMs }: SampleDeps,
  graph: UdfGraph | null,
  rows: readonly ReadRow[],
  signal: AbortSignal,
): Promise<Computed> {
  if (graph === null) return rows.map(() => ({ values: [], errors: null }));
  const columns = graph.inputs.map((_, at) => rows.map((row) => row.inputs[at] ?? null));
  const batch = (await runner.forGraph(graph)).runBatch(graph, columns, rows.length);
  await batch.wait(waitMs, signal);
  return Array.from({ length: batch.ready }, (_, at) => resultOf(batch, at));
}

async function runSteps(
  { sql }: SampleDeps,
  { before, after, sources }: SampleInput,
  { graph, steps }: Batch,
  rows: readonly ReadRow[],
  computed: Computed,
): Promise<ReadonlyMap<string, readonly (readonly [string, unknown])[]>> {
  if (steps.length === 0 || rows.length === 0) return new Map();
  const earlier = graph?.steps ?? [];
  const columnOf = new Map(after.columns.map((column) => [column.name, column]));
  const computedNames = new Set([...earlier.map((step) => step.name), ...steps.map((step) => step.column)]);
  const reads = steps.flatMap(({ column }) => {
    const expr = columnOf.get(column)?.computed?.expr;
    return expr === undefined ? [] : valuesRead(expr);
  });
  const values = computed.map((result) => result.values);
  const result = await sql.query({
    text: computeSample(
      before,
      earlier,
      steps,
      [...new Set(reads)].filter((name) => !computedNames.has(name)),
      sources,
    ),
    values: [
      `{${rows.map((row) => row.id).join(",")}}`,
      ...earlier.map((step, at) => arrayText(step.type.kind, values, at)),
    ],
  });
  return new Map(
    result.rows.map(([id, ...cells]) => [
      id ?? "",
      steps.map(({ column }, at): readonly [string, unknown] => {
        return [column, shownValue(columnOf.get(column) as CatalogColumn, cells[at] ?? null)];
      }),
    ]),
  );
}

/** The number of rows that a column makes for an iterator view, which its table keeps; undefined for other columns. */
function countOfMade(expr: Expr, value: EngineValue): number | undefined {
  if (madeRowsIn(expr) === undefined || typeof value !== "string") return undefined;
  return (JSON.parse(value) as RowsText).rows;
}
