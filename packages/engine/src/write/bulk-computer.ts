import type { RowBatch } from "../rows/many-rows.ts";
import { BatchComputer, type BatchComputerInput } from "./batch-computer.ts";
import { computeRefusal, sqlComputer } from "./compute-verb.ts";
import { isRowRefusal } from "./sql-refusals.ts";
import type { WriteDeps } from "./write-pipeline.ts";

/** Computes many rows and stores none. A few batches are in memory at once. */
export class BulkComputer {
  /** Best number of rows per batch: one statement and one run of the workers each. */
  readonly batch_rows = 500;
  readonly #deps: WriteDeps;
  readonly #input: BatchComputerInput;
  readonly #computer: BatchComputer;
  readonly #bySql: ReturnType<typeof sqlComputer>;

  constructor(deps: WriteDeps, input: BatchComputerInput) {
    this.#deps = deps;
    this.#input = input;
    this.#computer = new BatchComputer(deps, input);
    this.#bySql = sqlComputer(deps, { ...input, is_prepared: false });
  }

  /** Fills the rows of each batch. An error caused by a row names the row. @throws as `RowRunner.run`; errors of `batches` */
  async *compute(batches: AsyncIterable<RowBatch>, signal: AbortSignal): AsyncGenerator<RowBatch> {
    for await (const batch of batches) {
      const done = await this.#computer.compute(batch, signal);
      const rows = done.size === 0 ? batch.rows : batch.rows.filter((row) => !done.has(row));
      if (this.#bySql !== null && rows.length > 0) {
        try {
          await this.#bySql(rows);
        } catch (error) {
          if (!isRowRefusal(error)) throw computeRefusal(this.#input.layout, undefined, error, this.#deps.limits);
          // Python may be able to compute a value that SQL cannot, and names the row otherwise.
          await this.#computer.computeRest(batch, rows, signal);
        }
      }
      signal.throwIfAborted();
      yield batch;
    }
  }
}
