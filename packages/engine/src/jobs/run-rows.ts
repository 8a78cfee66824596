import { appError } from "@appdb/contract/errors";
import type { EngineValue } from "@appdb/contract/types";
import type { CellError, CellErrors } from "../compute/cell-errors.ts";
import { withJsonChecks } from "../compute/checked-runner.ts";
import type { SqlResult, UdfGraph, UdfResult, UdfRunner } from "../ports.ts";
import { compileJsonChecks } from "../rows/json-checks.ts";
import { fromSqlText } from "../rows/value-sql.ts";
import { functionsBehind } from "../schema/column-queries.ts";
import { type ComputedHere, createJobQueries } from "./answer-queries.ts";
import type { JobDeps } from "./job-deps.ts";

/** A row as it was read: `xmin` tells whether it is still the same when its values are written. */
export interface StoredRow {
  readonly id: string;
  readonly xmin: string;
  readonly inputs: readonly EngineValue[];
  /** What failed in columns that were asked for; null for nothing. */
  readonly failed: CellErrors | null;
}

/** Decodes what `selectRows` gives. `outside`: the columns whose errors count; the cell errors then come last. */
export function readRows(
  result: SqlResult,
  inputs: UdfGraph["inputs"],
  outside: ReadonlySet<string>,
): readonly StoredRow[] {
  return result.rows.map((row) => ({
    id: row[0] ?? "",
    xmin: row[1] ?? "",
    inputs: inputs.map((input, at) => {
      const text = row[at + 2] ?? null;
      return text === null ? null : fromSqlText(input.type, text);
    }),
    failed: outside.size === 0 ? null : failedCells(row[inputs.length + 2] ?? null, outside),
  }));
}

/** A pending cell is no failed one: its job comes first and has closed it, or a later one computes all of the row again. */
function failedCells(text: string | null, outside: ReadonlySet<string>): CellErrors | null {
  if (text === null) return null;
  const cells = Object.entries(JSON.parse(text) as Record<string, CellError | "pending">);
  const failed = cells.flatMap(([name, error]) => (error === "pending" || !outside.has(name) ? [] : [[name, error]]));
  return failed.length === 0 ? null : (Object.fromEntries(failed) as CellErrors);
}

/** Rows on their way through a graph. */
export interface RowsRun {
  /** Rows from the first one on that all have their result. */
  readonly ready: number;
  /** The result of a row that is ready. */
  result(at: number): UdfResult;
  /** Waits until all rows have their result, or `ms` have passed. @throws worker_unavailable, overloaded; the abort's reason */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** Hands rows to a runner, all at once: it cuts them into chunks and takes them as its workers get free. */
export function startRows(runner: UdfRunner, graph: UdfGraph, rows: readonly StoredRow[]): RowsRun {
  const results = new Array<UdfResult | undefined>(rows.length);
  let ready = 0;
  let failure: { readonly error: unknown } | undefined;
  let wake: (() => void) | undefined;
  rows.forEach((row, at) => {
    runner.run(graph, row.inputs).then(
      (result) => {
        results[at] = result;
        while (ready < rows.length && results[ready] !== undefined) ready += 1;
        if (ready === rows.length) wake?.();
      },
      (error: unknown) => {
        failure ??= { error };
        wake?.();
      },
    );
  });
  return {
    get ready() {
      return ready;
    },
    result: (at) => {
      const result = results[at];
      if (result === undefined) throw new TypeError(`row ${at} has no result yet`);
      return result;
    },
    wait: async (ms, signal) => {
      if (ready < rows.length && failure === undefined && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(end, ms);
          signal.addEventListener("abort", end, { once: true });
          wake = end;
          function end(): void {
            clearTimeout(timer);
            signal.removeEventListener("abort", end);
            resolve();
          }
        });
        wake = undefined;
      }
      if (failure !== undefined) throw failure.error;
      signal.throwIfAborted();
    },
  };
}

/** Workers for a job, started with the first graph that needs them. */
export interface LazyRunner extends AsyncDisposable {
  forGraph(graph: UdfGraph): Promise<UdfRunner>;
}

/** @throws worker_unavailable from `forGraph` when nobody has said how the application's Python is run */
export function createLazyRunner(deps: JobDeps, here: ComputedHere, runtimeId: string | null): LazyRunner {
  let started: Promise<UdfRunner> | undefined;
  return {
    forGraph(graph) {
      started ??= start(deps, here, runtimeId, graph);
      return started;
    },
    async [Symbol.asyncDispose]() {
      if (started === undefined) return;
      // A runner that never started has told its reason to whoever wanted it.
      const runner = await started.catch(() => undefined);
      await runner?.[Symbol.asyncDispose]();
    },
  };
}

async function start(deps: JobDeps, here: ComputedHere, runtimeId: string | null, graph: UdfGraph): Promise<UdfRunner> {
  const { catalog, columns } = here;
  if (runtimeId === null) {
    throw appError("worker_unavailable", {
      detail: "No update has said yet in which Python the functions of this table run.",
      hint: "Run the update of this application again: cli schema update <app file> <target>",
    });
  }
  const behind = columns.flatMap(({ computed }) => (computed?.queries === undefined ? [] : functionsBehind(computed)));
  const modules = [
    ...graph.functions.map((fn) => catalog.functions.get(fn.id)?.module ?? fn.module),
    ...behind.flatMap((id) => catalog.functions.get(id)?.module ?? []),
  ];
  const checks = await compileJsonChecks(catalog.tables.flatMap((table) => table.columns.map((column) => column.type)));
  let workers: UdfRunner | undefined;
  const udf = (): UdfRunner => {
    if (workers === undefined) throw new TypeError("A query was asked before there were workers.");
    return workers;
  };
  const queries = createJobQueries({ sql: deps.sql, udf, query_limits: deps.query_limits }, here);
  workers = await deps.udf(runtimeId, [...new Set(modules)].sort(), queries.answer);
  return withJsonChecks(queries.guard(workers), checks);
}
