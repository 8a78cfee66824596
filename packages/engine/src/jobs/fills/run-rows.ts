import { appError } from "@appdb/contract/errors";
import type { ColumnType, EngineValue } from "@appdb/contract/types";
import { functionsReadBy } from "../../bound-queries/column-queries.ts";
import { runWhole } from "../../compute/batch-results.ts";
import type { CellError, CellErrors } from "../../compute/cell-errors.ts";
import { withJsonChecks } from "../../compute/checked-runner.ts";
import { withMadeRows } from "../../compute/rows-runner.ts";
import { compileJsonChecks } from "../../kinds/json-checks.ts";
import { kindOf } from "../../kinds/kinds.ts";
import type { SqlResult, UdfBatch, UdfGraph, UdfRunner } from "../../ports.ts";
import type { JobDeps } from "../job-deps.ts";
import { type ComputedHere, createJobQueries } from "./answer-queries.ts";
import type { FillContext } from "./fill-context.ts";
import { isListedUnchanged } from "./fill-statement.ts";

/** Rows as read, column by column. `rowVersions` show whether they are unchanged when their values are written. */
export interface StoredRows {
  readonly ids: readonly string[];
  readonly rowVersions: readonly string[];
  /** By input of the graph. */
  readonly inputs: readonly (readonly EngineValue[])[];
  /** Failed cells of the requested columns, by row index. */
  readonly failed: ReadonlyMap<number, CellErrors>;
}

/** Decodes the result of `selectRows`. `outside`: the columns whose errors matter; the cell errors then come last. */
export function readStoredRows(
  result: SqlResult,
  inputs: UdfGraph["inputs"],
  outside: ReadonlySet<string>,
): StoredRows {
  const [ids, xmins, ...lists] = result.rows[0] ?? [];
  return {
    ids: elements(ids),
    rowVersions: elements(xmins),
    inputs: inputs.map((input, at) => valuesOf(input.type, lists[at])),
    failed: outside.size === 0 ? new Map() : failedRows(lists[inputs.length], outside),
  };
}

/** Elements of an array whose text needs no quotes. */
function elements(text: string | null | undefined): readonly string[] {
  return text == null ? [] : text.slice(1, -1).split(",");
}

function valuesOf(type: ColumnType, list: string | null | undefined): readonly EngineValue[] {
  if (list == null) return [];
  const values = JSON.parse(list) as (string | boolean | null)[];
  if (isListedUnchanged(type)) return values;
  const { fromSql } = kindOf(type);
  return values.map((text) => (text === null ? null : fromSql(String(text), type)));
}

function failedRows(list: string | null | undefined, outside: ReadonlySet<string>): ReadonlyMap<number, CellErrors> {
  const found = new Map<number, CellErrors>();
  if (list == null) return found;
  for (const [row, text] of (JSON.parse(list) as (string | null)[]).entries()) {
    const failed = text === null ? null : failedCells(text, outside);
    if (failed !== null) found.set(row, failed);
  }
  return found;
}

/** A pending cell is not a failed one. An earlier job has filled it, or a later one recomputes the whole row. */
function failedCells(text: string, outside: ReadonlySet<string>): CellErrors | null {
  const cells = Object.entries(JSON.parse(text) as Record<string, CellError | "pending">);
  const failed = cells.flatMap(([name, error]) => (error === "pending" || !outside.has(name) ? [] : [[name, error]]));
  return failed.length === 0 ? null : (Object.fromEntries(failed) as CellErrors);
}

/** The results of a graph, column by column; `errors` by row index. */
export type RowResults = Pick<UdfBatch, "columns" | "errors">;

/** The results of rows for which a graph computes nothing. */
export const NO_RESULTS: RowResults = { columns: [], errors: new Map() };

/** The rows from `from` up to `to`. */
export function sliceRows(rows: StoredRows, from: number, to: number): StoredRows {
  return {
    ids: rows.ids.slice(from, to),
    rowVersions: rows.rowVersions.slice(from, to),
    inputs: rows.inputs.map((column) => column.slice(from, to)),
    failed: sliceMap(rows.failed, from, to),
  };
}

/** The results of those rows. */
export function sliceResults({ columns, errors }: RowResults, from: number, to: number): RowResults {
  return { columns: columns.map((column) => column.slice(from, to)), errors: sliceMap(errors, from, to) };
}

function sliceMap<T>(map: ReadonlyMap<number, T>, from: number, to: number): ReadonlyMap<number, T> {
  const slice = new Map<number, T>();
  for (const [at, value] of map) if (at >= from && at < to) slice.set(at - from, value);
  return slice;
}

/** Runs a graph on rows and waits for all of them. @throws as `UdfBatch.wait` */
export async function runAll(
  { runner, signal }: Pick<FillContext, "runner" | "signal">,
  graph: UdfGraph,
  rows: Pick<StoredRows, "ids" | "inputs">,
): Promise<RowResults> {
  return await runWhole(await runner.forGraph(graph), graph, rows.inputs, rows.ids.length, signal);
}

/** Workers for a job, started with the first graph that needs them. */
export interface LazyRunner extends AsyncDisposable {
  forGraph(graph: UdfGraph): Promise<UdfRunner>;
}

/** @throws worker_unavailable from `forGraph` when no update has stored the application's runtime */
export function createLazyRunner(deps: JobDeps, here: ComputedHere, runtimeId: string | null): LazyRunner {
  let started: Promise<UdfRunner> | undefined;
  return {
    forGraph(graph) {
      started ??= start(deps, here, runtimeId, graph);
      return started;
    },
    async [Symbol.asyncDispose]() {
      if (started === undefined) return;
      // If the runner never started, its caller already has the reason.
      const runner = await started.catch(() => undefined);
      await runner?.[Symbol.asyncDispose]();
    },
  };
}

async function start(deps: JobDeps, here: ComputedHere, ofTable: string | null, graph: UdfGraph): Promise<UdfRunner> {
  const { catalog, columns } = here;
  const runtimeId = ofTable ?? deps.plain_runtime_id;
  if (runtimeId === undefined) {
    throw appError("worker_unavailable", {
      detail: "No update has stored the Python runtime of this table's functions yet.",
      hint: "Run the update of this application again: cli schema update <app file> <target>",
    });
  }
  const behind = columns.flatMap(({ computed }) => (computed?.queries === undefined ? [] : functionsReadBy(computed)));
  const modules = [
    ...graph.functions.map((fn) => catalog.functions.get(fn.id)?.module ?? fn.module),
    ...behind.flatMap((id) => catalog.functions.get(id)?.module ?? []),
  ];
  const checks = await compileJsonChecks(catalog.tables.flatMap((table) => table.columns.map((column) => column.type)));
  let workers: UdfRunner | undefined;
  const udf = (): UdfRunner => {
    if (workers === undefined) throw new TypeError("A query was sent before workers were started.");
    return workers;
  };
  const queries = createJobQueries({ sql: deps.sql, udf, query_limits: deps.query_limits }, here);
  workers = await deps.udf(runtimeId, [...new Set(modules)].sort(), queries.answer);
  return withMadeRows(withJsonChecks(queries.guard(workers), checks));
}
