import { type AppError, appError, type ErrorCode, isErrorCode } from "@appdb/contract/errors";
import { OPERATORS, shownFunction } from "@appdb/contract/operators";
import { isProgramFunction, shownFunctionName } from "@appdb/contract/program-code";
import type { ColumnType, EngineValue } from "@appdb/contract/types";
import type { CatalogFunction, CatalogTable } from "../catalog/catalog.ts";
import { indexOfHiddenColumn, shownColumn } from "../catalog/hidden-columns.ts";
import { columnLabel, columnPath, viewOfRows } from "../catalog/sql-names.ts";
import type { UdfBatch, UdfError, UdfGraph, UdfResult, UdfRunner } from "../ports.ts";
import { runWhole } from "./batch-results.ts";
import { ERRORS_INPUT } from "./cell-errors.ts";
import { planPython } from "./plan-compute.ts";
import type { RowLayout } from "./row-layout.ts";
import { workerEndHint } from "./worker-end.ts";

const CODES = {
  raised: "function_failed",
  wrong_type: "function_failed",
  skipped: "function_failed",
  import: "function_failed",
  missing: "function_missing",
  memory: "worker_out_of_memory",
  died: "worker_died",
  timeout: "function_timeout",
} as const satisfies Record<UdfError["kind"], ErrorCode>;

/** Maximum length of an expression in messages. */
const LONGEST_TEXT = 80;

/** The error code for a cell's error. */
export function cellErrorCode(error: UdfError): ErrorCode {
  return CODES[error.kind];
}

/** The slots of a graph's inputs and results in a row. */
export interface BoundGraph {
  readonly graph: UdfGraph;
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

/** Finds the slots of a graph's inputs and steps. */
export function bindGraph(graph: UdfGraph, index: ReadonlyMap<string, number>): BoundGraph {
  const slotOf = (name: string): number => {
    const slot = index.get(name);
    if (slot === undefined) throw new TypeError(`The graph names ${name}, which the row does not have.`);
    return slot;
  };
  // A new row has no stored errors. The index after all slots is empty, which is null.
  const inputOf = (name: string): number => (name === ERRORS_INPUT ? index.size : slotOf(name));
  return {
    graph,
    inputs: graph.inputs.map((input) => inputOf(input.name)),
    outputs: graph.steps.map((step) => slotOf(step.name)),
  };
}

/** Binds the graph that computes `columns` in Python, and first decodes `checked`; null for none. @throws as planPython */
export function bindPython(
  { whole, index }: Pick<RowLayout, "whole" | "index">,
  functions: ReadonlyMap<string, CatalogFunction>,
  columns: readonly string[],
  checked: readonly string[] = [],
): BoundGraph | null {
  const graph = planPython(whole, functions, columns, checked);
  return graph === null ? null : bindGraph(graph, index);
}

/**
 * Runs a graph on one row and writes the results into its slots, null for failed ones. Returns the errors, or null for
 * none.
 * @throws worker_unavailable, overloaded
 */
export async function runCells(
  udf: UdfRunner,
  bound: BoundGraph,
  row: EngineValue[],
  signal?: AbortSignal,
): Promise<UdfResult["errors"]> {
  const inputs = bound.inputs.map((slot) => row[slot] ?? null);
  const { values, errors } = await udf.run(bound.graph, inputs, signal);
  for (let step = 0; step < bound.outputs.length; step++) {
    const slot = bound.outputs[step];
    if (slot !== undefined) row[slot] = values[step] ?? null;
  }
  return errors;
}

/**
 * The same for many rows at once. Returns errors by row index.
 * @throws worker_unavailable, overloaded; the signal's reason
 */
export async function runBatch(
  udf: UdfRunner,
  bound: BoundGraph,
  rows: readonly EngineValue[][],
  signal?: AbortSignal,
): Promise<UdfBatch["errors"]> {
  const inputs = bound.inputs.map((slot) => rows.map((row) => row[slot] ?? null));
  const batch = await runWhole(udf, bound.graph, inputs, rows.length, signal);
  for (const [step, slot] of bound.outputs.entries()) {
    const values = batch.columns[step];
    for (const [at, row] of rows.entries()) row[slot] = values?.[at] ?? null;
  }
  return batch.errors;
}

/** The error of a row: that of the first column that failed itself, not of its readers. */
export function cellError(table: CatalogTable, errors: Readonly<Record<string, UdfError>>): AppError {
  const failed = Object.entries(errors);
  const [column, error] = failed.find(([, candidate]) => candidate.kind !== "skipped") ?? failed[0] ?? [];
  if (column === undefined || error === undefined) throw new TypeError("A failed row came without an error.");
  const own = table.columns.find(({ name }) => name === column);
  if (own !== undefined && own.computed === null) {
    return fileError(error, {
      of: columnPath(table.name, own.name),
      kind: own.type.kind,
      hint: "Nothing was stored. Send another file.",
      meta: { table: table.name, column: own.name },
    });
  }
  const storeCode = storeFailure(error);
  if (storeCode !== undefined) {
    return appError(storeCode, {
      detail: `${columnLabel(table.name, shownColumn(table, column))}: ${error.message}`,
      hint: storeHint(storeCode),
      meta: { table: table.name, column },
    });
  }
  const at = error.at === null ? "" : ` (${error.at})`;
  const text = own?.computed?.text;
  const index = indexOfHiddenColumn(table, column);
  return appError(CODES[error.kind], {
    detail: `${columnLabel(table.name, shownColumn(table, column))}: ${describeUdfError(error, text)}${at}`,
    hint: hintFor(error),
    meta: {
      table: table.name,
      column: index?.columns[0] ?? viewOfRows(column) ?? column,
      ...(index === undefined ? {} : { embedding_index: index.name }),
      function: error.function,
      type: error.type,
      message: error.message,
      at: error.at,
    },
  });
}

/** Codes of the database around a store, for a failure while a cell's files were read or stored. */
const AROUND_STORES: ReadonlySet<string> = new Set(["overloaded", "disk_full", "database_unavailable"]);

/** The code of a store that failed while the cell's files were read or stored, of a full disk, or of a database that
 *  does not answer; undefined for errors of functions. */
export function storeFailure({ type }: UdfError): ErrorCode | undefined {
  if (!isErrorCode(type) || type === "media_invalid") return undefined;
  return AROUND_STORES.has(type) || type.startsWith("media_") ? type : undefined;
}

export function storeHint(code: ErrorCode): string {
  if (code === "disk_full") return "Nothing was stored. Free space on the disk, and send the request again.";
  if (code === "media_store_full") {
    return "Nothing was stored. Free space in the store (cli media du, cli media prune), or raise media_gb in the database's entry. Then send the request again.";
  }
  if (code === "overloaded" || code === "database_unavailable") {
    return "Nothing was stored. Send the request again in a moment.";
  }
  return ["media_unreachable", "media_too_large", "media_not_found", "media_source_not_allowed"].includes(code)
    ? "Nothing was stored. Send another address, or upload the file."
    : "Nothing was stored. Check the store: its address, its credentials and its free space. Then send the request again.";
}

/** What a given file is for, in errors: a column or parameter, and the next step for an invalid file. */
interface FilePlace {
  readonly of: string;
  readonly kind: ColumnType["kind"];
  readonly hint: string;
  readonly meta: Readonly<Record<string, string>>;
}

/** The error of a given file that cannot be read, or has other content than its place. */
export function fileError(error: UdfError, { of, kind, hint, meta }: FilePlace): AppError {
  const code = isErrorCode(error.type) ? error.type : undefined;
  const isOurs = code !== undefined;
  return appError(code ?? "media_invalid", {
    detail: isOurs ? error.message : `The file for ${of} is not valid ${kind} content: ${error.message}`,
    hint: isOurs ? storeHint(code) : hint,
    meta,
    errors: [
      {
        pointer: `/${meta.column ?? meta.parameter ?? ""}`,
        detail: isOurs ? error.message : `This file is not valid ${kind} content.`,
      },
    ],
  });
}

/** Describes the failure of a function, or a missing one, for the caller. `text` is the printed expression of the
 *  column. */
export function describeUdfError(error: UdfError, text?: string): string {
  switch (error.kind) {
    case "raised":
      return `${failedPart(error, text)} raised ${error.type}: ${error.message}`;
    case "wrong_type":
      return `${shownFunctionName(error.function)} returned the wrong type: ${error.message}`;
    case "missing":
      return `it needs ${shownFunctionName(error.function)}, which is missing: ${error.message}`;
    case "skipped":
      return `it reads a column that has no value: ${error.message}`;
    default:
      return `${shownFunctionName(error.function)}: ${error.message}`;
  }
}

/** The failed part: a function by its name, an operator by its expression or its sign. */
export function failedPart(error: UdfError, text?: string): string {
  if (!OPERATORS.has(error.function)) return shownFunctionName(error.function);
  if (text === undefined) return `the operator ${shownFunction(error.function)}`;
  return text.length <= LONGEST_TEXT
    ? text
    : `${shownFunction(error.function)} in ${text.slice(0, LONGEST_TEXT - 3)}...`;
}

/** The next step for a missing function; `instead` of restoring it. */
export function missingHint(error: UdfError, instead: string): string {
  if (!isProgramFunction(error.function))
    return `Restore the function, or ${instead}. A hosted database has the functions of its last \`cli db update\`.`;
  return "Move the function into a module of the project, for example functions.py, and run add_computed_column() again with if_exists='replace'.";
}

function hintFor(error: UdfError): string {
  switch (error.kind) {
    case "missing":
      return `Nothing was stored. ${missingHint(error, "change the column and run `cli schema update`")}`;
    case "timeout":
      return "Nothing was stored. Make the function faster, give it smaller inputs, or set its own limit: `timeout=` of `@db.udf` or `@db.iterator`.";
    case "died":
      return `Nothing was stored. ${workerEndHint(error.message)}`;
    case "memory":
      return "Nothing was stored. Send smaller input, or give workers more memory. Locally: `SERVICE_WORKER_MEMORY_MB=1024 cli daemon restart`. Hosted: a larger memory_mb in service.toml.";
    default:
      return "Nothing was stored. Send other values, or correct the function and run `cli service update`.";
  }
}
