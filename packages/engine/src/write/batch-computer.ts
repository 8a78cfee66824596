import type { OnError } from "@appdb/contract/jobs";
import { fillGenerated, type Row, type RowLayout } from "../compute/row-layout.ts";
import { cellError, runBatch } from "../compute/run-graph.ts";
import { type RowBatch, withRowLocation } from "../rows/many-rows.ts";
import type { ComputeStage } from "./compute-stage.ts";
import type { WriteDeps } from "./write-pipeline.ts";

export interface BatchComputerInput {
  readonly layout: RowLayout;
  readonly on_error: OnError;
  readonly stage: ComputeStage;
}

/** Computes columns of many new rows in Python, batch by batch. Errors name their row. */
export class BatchComputer {
  readonly #deps: WriteDeps;
  readonly #input: BatchComputerInput;

  constructor(deps: WriteDeps, input: BatchComputerInput) {
    this.#deps = deps;
    this.#input = input;
  }

  /** Computes columns in Python. Returns the rows whose SQL columns already have values or errors too. */
  async compute(batch: RowBatch, signal: AbortSignal): Promise<ReadonlySet<Row>> {
    const { layout, stage, on_error: onError } = this.#input;
    const failed = new Set<Row>();
    for (const row of batch.rows) fillGenerated(layout, this.#deps, row);
    if (stage.graph === null) return failed;
    const errors = await runBatch(this.#deps.udf(), stage.graph, batch.rows, signal);
    for (const [at, found] of [...errors].sort(([a], [b]) => a - b)) {
      const row = batch.rows[at];
      if (row === undefined) continue;
      try {
        if (stage.accept({ row, onError }, found)) continue;
        await stage.complete({ row, onError, signal });
        failed.add(row);
      } catch (error) {
        throw withRowLocation(error, batch.locationOf(at));
      }
    }
    return failed;
  }

  /** Computes in Python the columns that SQL would have computed. @throws as `compute` */
  async computeRest(batch: RowBatch, rows: readonly Row[], signal: AbortSignal): Promise<void> {
    const { layout, stage, on_error: onError } = this.#input;
    if (stage.rest === null) return;
    if (onError === "ignore") {
      await Promise.all(rows.map((row) => stage.complete({ row, onError, signal })));
      return;
    }
    const errors = await runBatch(this.#deps.udf(), stage.rest, rows, signal);
    const at = Math.min(...errors.keys());
    const found = errors.get(at);
    if (found !== undefined) throw withRowLocation(cellError(layout.whole, found), placeOf(batch, rows[at]));
  }
}

/** The location of a row of a batch. */
export function placeOf(batch: RowBatch, row: Row | undefined) {
  return batch.locationOf(row === undefined ? 0 : batch.rows.indexOf(row));
}
