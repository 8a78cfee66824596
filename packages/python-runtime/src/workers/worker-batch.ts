import type { EngineValue } from "@appdb/contract/types";
import { BatchResults } from "@appdb/engine/compute/batch-results";
import { KINDS } from "@appdb/engine/kinds/kinds";
import type { GraphRows, QueuedRow } from "./row-queue.ts";

/** Rows that a caller submitted together. They stay columns and become objects only when something fails. */
export class WorkerBatch {
  readonly graph: GraphRows;
  readonly inputs: readonly (readonly EngineValue[])[];
  readonly results: BatchResults;
  is_dropped = false;
  readonly #isLong: readonly boolean[];
  #next = 0;

  constructor(graph: GraphRows, inputs: readonly (readonly EngineValue[])[], rows: number) {
    this.graph = graph;
    this.inputs = inputs;
    this.results = new BatchResults(graph.graph, rows);
    this.#isLong = graph.kinds.map((kind) => KINDS[kind].isLong);
  }

  /** Number of rows not yet taken. */
  get left(): number {
    return this.results.rows - this.#next;
  }

  /** Takes up to `count` next rows, fewer when they exceed `characters`. */
  take(count: number, characters: number): BatchPart {
    const first = this.#next;
    const end = Math.min(first + count, this.results.rows);
    let next = first;
    for (let sum = 0; next < end && sum < characters; next++) sum += this.#charactersOf(next);
    this.#next = next;
    return { batch: this, first, count: next - first };
  }

  /** Leaves the remaining rows out. */
  drop(): void {
    this.is_dropped = true;
    this.#next = this.results.rows;
  }

  /** An individual row that was sent; its result is stored here. */
  row(at: number): QueuedRow {
    return {
      graph: this.graph,
      values: this.inputs.map((column) => column[at] ?? null),
      resolve: (result) => this.results.put(at, result),
      reject: (error) => this.results.fail(error),
      forget: undefined,
      strikes: 0,
      state: "sent",
      batch: this,
    };
  }

  #charactersOf(row: number): number {
    let sum = 0;
    for (const [at, column] of this.inputs.entries()) {
      const value = this.#isLong[at] === true ? column[row] : undefined;
      if (typeof value === "string" || value instanceof Uint8Array) sum += value.length;
    }
    return sum;
  }
}

/** Rows of a batch that are sent together. */
export interface BatchPart {
  readonly batch: WorkerBatch;
  readonly first: number;
  readonly count: number;
}
