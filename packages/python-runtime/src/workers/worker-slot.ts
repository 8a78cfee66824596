import type { FromWorker, WireValue } from "@appdb/contract/worker-protocol";
import type { AggregateRun } from "./aggregate-run.ts";
import { Chunk, type RowsFrame, takeFrom, takeOne } from "./chunk.ts";
import type { FailureAttribution } from "./failure-attribution.ts";
import { GraphNumbers } from "./graph-numbers.ts";
import type { GraphRows, QueuedRow } from "./row-queue.ts";
import { columnToWire, spellNegativeZero, toWire } from "./wire-values.ts";
import type { BatchPart } from "./worker-batch.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** A slot for one worker: its current process and the work of that process. */
export class WorkerSlot {
  process: WorkerProcess | undefined;
  /** Chunks of plain graphs in flight, oldest first; the worker runs them in this order. */
  chunks: Chunk[] = [];
  /** Chunks of concurrent graphs in flight, by call. */
  flows = new Map<number, Chunk>();
  /** Aggregations in this worker, by call. */
  folds = new Map<number, AggregateRun>();
  /** Last sign of progress of its main thread: a plain row started or ended, or aggregate rows were taken. */
  progress_at = 0;
  /** Last sign of life. */
  heard_at = 0;
  /** The row that the worker reported as running, and its step and function if known. */
  running: { call: number; row: number; step?: number; function?: string } | undefined;
  /** Accepts no more rows and is replaced after its last one. */
  is_retiring = false;
  ready_at = 0;
  /** Whether the process has answered a call. */
  has_worked = false;
  /** Why we ended the process. */
  failure: FailureAttribution | undefined;
  /** Whether the culprit is known and has already failed. */
  is_charged = false;
  /** Memory when it became ready; undefined until known. */
  base_bytes: number | undefined;
  readonly #graphs = new GraphNumbers();

  /** Assigns a new process. */
  begin(process: WorkerProcess): void {
    this.process = process;
    this.chunks = [];
    this.flows = new Map();
    this.folds = new Map();
    this.running = undefined;
    this.is_retiring = false;
    this.has_worked = false;
    this.failure = undefined;
    this.is_charged = false;
    this.base_bytes = undefined;
    this.#graphs.clear();
  }

  /** Whether it runs nothing. */
  get isIdle(): boolean {
    return this.isOpen && this.chunks.length === 0 && this.flows.size === 0 && this.folds.size === 0;
  }

  /** Whether aggregate rows are in flight. */
  get isFed(): boolean {
    return [...this.folds.values()].some((fold) => fold.isFed);
  }

  get isBusy(): boolean {
    return this.chunks.length > 0 || this.flows.size > 0 || this.isFed;
  }

  /** Number of running rows of concurrent graphs. */
  get flowing(): number {
    let rows = 0;
    for (const chunk of this.flows.values()) rows += chunk.left;
    return rows;
  }

  /** Number of all running rows. */
  get rows(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.left, this.flowing);
  }

  /** Whether it accepts rows. */
  get isOpen(): boolean {
    return this.process?.isReady === true && !this.is_retiring && this.failure === undefined;
  }

  /** Sends rows of a graph under a call number. Sends the graph first when the process does not know it. */
  run(
    call: number,
    rows: GraphRows,
    load: readonly QueuedRow[] | BatchPart,
    how: { is_solo: boolean; is_concurrent: boolean },
    now: number,
  ): void {
    const process = this.process as WorkerProcess;
    const { graph, kinds } = rows;
    const { is_new: isNew, number } = this.#graphs.numberOf(graph.key, (key) => this.#isRunning(key));
    if (isNew) {
      process.send({
        t: "graph",
        graph: number,
        inputs: [...graph.inputs],
        steps: graph.steps.map((step) => ({ ...step, expr: spellNegativeZero(step.expr) })),
        functions: [...graph.functions],
      });
    }
    const chunk = new Chunk({ call, graph: rows, load, is_solo: how.is_solo, began_at: now });
    process.sendColumns({ t: "run", call, graph: number, n: chunk.size, columns: columnsOf(rows, load) }, kinds);
    if (!this.isBusy) this.heard_at = now;
    if (how.is_concurrent) {
      this.flows.set(call, chunk);
      return;
    }
    if (this.chunks.length === 0) this.progress_at = now;
    this.chunks.push(chunk);
  }

  #isRunning(key: string): boolean {
    return [...this.chunks, ...this.flows.values()].some((chunk) => chunk.graph.graph.key === key);
  }

  /** Chunk of a call. @throws Error when the worker names an unknown call */
  chunk(call: number): Chunk {
    const chunk = this.chunks.find((chunk) => chunk.call === call) ?? this.flows.get(call);
    if (chunk === undefined) throw new Error(`call ${call} is not in flight`);
    return chunk;
  }

  /** Records that an aggregation is about to send work. Its time starts now if nothing else runs. */
  noteFold(now: number): void {
    if (this.chunks.length === 0 && !this.isFed) this.progress_at = now;
    if (!this.isBusy) this.heard_at = now;
  }

  /** Records that rows of a call have arrived. */
  noteRows(call: number, now: number): void {
    if (!this.flows.has(call)) this.progress_at = now;
    if (this.running?.call === call) this.running = undefined;
  }

  /**
   * Removes the rows answered by a `rows` frame from their chunk. Batch rows are stored in their batch, and their
   * number is returned. `onRow` gets the other rows, with `k` as the index in the frame.
   */
  answer(frame: RowsFrame, onRow: (row: QueuedRow, k: number) => void): number {
    const chunk = this.chunk(frame.call);
    if (chunk.takeColumns(frame)) return frame.rows.length;
    for (let k = 0; k < frame.rows.length; k++) {
      const index = frame.rows[k] as number;
      const row = chunk.rows[index];
      chunk.rows[index] = undefined;
      if (row === undefined) continue;
      chunk.left -= 1;
      onRow(row, k);
    }
    return 0;
  }

  /** Ends a chunk and starts the next. @throws Error when some of its rows have no answer */
  done(call: number, now: number): Chunk {
    const chunk = this.chunk(call);
    if (chunk.left > 0) throw new Error(`call ${call} ended without an answer for ${chunk.left} rows`);
    this.has_worked = true;
    if (this.running?.call === call) this.running = undefined;
    if (this.flows.delete(call)) return chunk;
    this.chunks.splice(this.chunks.indexOf(chunk), 1);
    const next = this.chunks[0];
    if (next !== undefined) next.began_at = now;
    return chunk;
  }

  /** Records what runs. A step, and a function in it, get the whole limit of time. */
  noteRunning({ call, row, step, function: name }: Extract<FromWorker, { t: "at" }>, now: number): void {
    this.progress_at = now;
    this.running = { call, row, ...(step === null ? {} : { step }), ...(name === null ? {} : { function: name }) };
  }

  /** Step and function that run, for the blame of a failure. */
  get culprit(): { step?: number; function?: string } {
    const { call: _call, row: _row, ...culprit } = this.running ?? {};
    return culprit;
  }

  /** Removes the row that is certainly running from its chunk: the reported row, or the only one left. */
  takeRunning(): QueuedRow | undefined {
    const chunk = this.chunks[0];
    if (chunk === undefined) return undefined;
    const named = this.running?.call === chunk.call ? this.running.row : -1;
    const index = chunk.rows[named] === undefined && chunk.left === 1 ? chunk.rows.findIndex(Boolean) : named;
    return takeOne(chunk, index);
  }

  /** Removes a row that the worker named from its chunk. */
  takeRow(call: number, index: number): QueuedRow | undefined {
    const chunk = this.chunks.find((chunk) => chunk.call === call) ?? this.flows.get(call);
    return chunk === undefined ? undefined : takeOne(chunk, index);
  }

  /** Removes all unstarted rows for another worker: those after the running one. */
  takeUnbegun(): { graph: GraphRows; rows: QueuedRow[] }[] {
    const [first, ...later] = this.chunks;
    if (first === undefined || this.running?.call !== first.call || first.is_solo) return [];
    const from = this.running.row + 1;
    return [takeFrom(first, from), ...later.map((chunk) => takeFrom(chunk, 0))].filter(({ rows }) => rows.length > 0);
  }
}

function columnsOf({ graph }: GraphRows, load: readonly QueuedRow[] | BatchPart): WireValue[][] {
  return graph.inputs.map(({ type }, at) => {
    if (!("batch" in load)) return load.map((row) => toWire(type, row.values[at] ?? null));
    const values = load.batch.inputs[at]?.slice(load.first, load.first + load.count) ?? [];
    return columnToWire(type, values);
  });
}
