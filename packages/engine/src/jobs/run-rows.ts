import { appError } from "@appdb/contract/errors";
import type { EngineValue } from "@appdb/contract/types";
import type { SqlResult, UdfGraph, UdfResult, UdfRunner } from "../ports.ts";
import { fromSqlText } from "../rows/value-sql.ts";
import type { Catalog } from "../schema/catalog.ts";
import type { JobDeps } from "./job-deps.ts";

/** Rows handed to the workers at a time: enough for full chunks, few enough to leave room for requests. */
const IN_FLIGHT = 128;

/** A row as it was read: `xmin` tells whether it is still the same when its values are written. */
export interface StoredRow {
  readonly id: string;
  readonly xmin: string;
  readonly inputs: readonly EngineValue[];
}

/** Decodes what `selectRows` gives. */
export function readRows(result: SqlResult, inputs: UdfGraph["inputs"]): readonly StoredRow[] {
  return result.rows.map(([id, xmin, ...values]) => ({
    id: id ?? "",
    xmin: xmin ?? "",
    inputs: inputs.map((input, at) => {
      const text = values[at] ?? null;
      return text === null ? null : fromSqlText(input.type, text);
    }),
  }));
}

/** Runs a graph over rows, several at a time, and gives the results in the rows' order.
 *  @throws worker_unavailable, overloaded */
export async function runRows(
  runner: UdfRunner,
  graph: UdfGraph,
  rows: readonly StoredRow[],
  signal: AbortSignal,
): Promise<readonly UdfResult[]> {
  const results = new Array<UdfResult>(rows.length);
  let next = 0;
  const runSome = async (): Promise<void> => {
    for (let at = next++; at < rows.length; at = next++) {
      signal.throwIfAborted();
      results[at] = await runner.run(graph, rows[at]?.inputs ?? [], signal);
    }
  };
  await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, rows.length) }, runSome));
  return results;
}

/** Workers for a job, started with the first graph that needs them. */
export interface LazyRunner extends AsyncDisposable {
  forGraph(graph: UdfGraph): Promise<UdfRunner>;
}

/** @throws worker_unavailable from `forGraph` when nobody has said how the application's Python is run */
export function createLazyRunner(deps: JobDeps, catalog: Catalog, runtimeId: string | null): LazyRunner {
  let started: Promise<UdfRunner> | undefined;
  return {
    forGraph(graph) {
      started ??= start(deps, catalog, runtimeId, graph);
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

async function start(deps: JobDeps, catalog: Catalog, runtimeId: string | null, graph: UdfGraph): Promise<UdfRunner> {
  if (runtimeId === null) {
    throw appError("worker_unavailable", {
      detail: "No update has said yet in which Python the functions of this table run.",
      hint: "Run the update of this application again: cli schema update <app file> <target>",
    });
  }
  const modules = graph.functions.map((fn) => catalog.functions.get(fn.id)?.module ?? fn.module);
  return deps.udf(runtimeId, [...new Set(modules)].sort());
}
