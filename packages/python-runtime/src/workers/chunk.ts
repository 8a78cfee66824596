import type { FromWorker } from "@appdb/contract/worker-protocol";
import type { GraphRows, QueuedRow } from "./row-queue.ts";
import { columnFromWire } from "./wire-values.ts";
import type { BatchPart } from "./worker-batch.ts";

export type RowsFrame = Extract<FromWorker, { t: "rows" }>;

export interface ChunkPlan {
  readonly call: number;
  readonly graph: GraphRows;
  /** Rows that callers await individually, or a part of a batch. */
  readonly load: readonly QueuedRow[] | BatchPart;
  readonly is_solo: boolean;
  readonly began_at: number;
}

/** Rows that were sent together. A row that was answered or moved to another worker leaves its slot empty. */
export class Chunk {
  readonly call: number;
  readonly graph: GraphRows;
  /** Whether a suspect runs alone, with nothing else in flight in its worker. */
  readonly is_solo: boolean;
  /** Number of sent rows. */
  readonly size: number;
  left: number;
  /** Known start in the worker. */
  began_at: number;
  #rows: (QueuedRow | undefined)[];
  /** Batch rows answered in order so far; they need no `QueuedRow`. */
  #part: BatchPart | undefined;

  constructor({ call, graph, load, is_solo: isSolo, began_at: beganAt }: ChunkPlan) {
    const isPart = "batch" in load;
    this.call = call;
    this.graph = graph;
    this.is_solo = isSolo;
    this.began_at = beganAt;
    this.#part = isPart ? load : undefined;
    this.#rows = isPart ? [] : [...load];
    this.size = isPart ? load.count : load.length;
    this.left = this.size;
  }

  /** The rows by index. Converts a part of a batch to rows so that one can be handled individually. */
  get rows(): (QueuedRow | undefined)[] {
    const part = this.#part;
    if (part !== undefined) {
      const answered = this.size - this.left;
      this.#rows = Array.from({ length: this.size }, (_, at) => {
        return at < answered ? undefined : part.batch.row(part.first + at);
      });
      this.#part = undefined;
    }
    return this.#rows;
  }

  /** Writes a frame's answers directly into the batch's columns. False when its rows must be handled individually. */
  takeColumns(frame: RowsFrame): boolean {
    const part = this.#part;
    const count = frame.rows.length;
    const answered = this.size - this.left;
    if (part === undefined || count > this.left || !isInTurn(frame.rows, answered)) return false;
    if (frame.errors?.some((errors) => errors !== null && isOutOfMemory(errors))) return false;
    const { steps } = this.graph.graph;
    const columns = steps.map(({ type }, step) => {
      return columnFromWire(type, frame.columns[step] ?? []);
    });
    this.left -= count;
    part.batch.results.putColumns(part.first + answered, count, columns, frame.errors);
    return true;
  }
}

function isInTurn(rows: readonly number[], first: number): boolean {
  for (let k = 0; k < rows.length; k++) if (rows[k] !== first + k) return false;
  return true;
}

/** Whether a row ran out of memory, so that it may be retried. */
export function isOutOfMemory(errors: Readonly<Record<string, { readonly kind: string }>>): boolean {
  return Object.values(errors).some((error) => error.kind === "memory");
}

/** Removes one row from its chunk. */
export function takeOne(chunk: Chunk, index: number): QueuedRow | undefined {
  const row = chunk.rows[index];
  if (row === undefined) return undefined;
  chunk.rows[index] = undefined;
  chunk.left -= 1;
  return row;
}

/** Removes all rows from an index on from their chunk. */
export function takeFrom(chunk: Chunk, from: number): { graph: GraphRows; rows: QueuedRow[] } {
  const rows: QueuedRow[] = [];
  for (let index = from; index < chunk.rows.length; index++) {
    const row = takeOne(chunk, index);
    if (row !== undefined) rows.push(row);
  }
  return { graph: chunk.graph, rows };
}

/** Unanswered rows of a chunk. */
export function openRows(chunk: Chunk): QueuedRow[] {
  return chunk.rows.filter((row) => row !== undefined);
}
