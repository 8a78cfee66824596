import type { WireValue } from "@appdb/contract/worker-protocol";
import type { AggregateRun } from "./aggregate-run.ts";
import { Chunk, type RowsFrame, takeFrom, takeOne } from "./chunk.ts";
import type { FailureAttribution } from "./failure-attribution.ts";
import { spellNegativeZero } from "./negative-zero.ts";
import type { GraphRows, QueuedRow } from "./row-queue.ts";
import { columnToWire, toWire } from "./wire-values.ts";
import type { BatchPart } from "./worker-batch.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** A place for one worker: the process that holds it now and what that process runs. */
export class WorkerSlot {
  process: WorkerProcess | undefined;
  /** Of plain graphs, sent and not done, oldest first: the worker runs them in this order. */
  chunks: Chunk[] = [];
  /** Of concurrent graphs, sent and not done, by call. */
  flows = new Map<number, Chunk>();
  /** Aggregations that live in this worker, by call. */
  folds = new Map<number, AggregateRun>();
  /** When the worker last showed that its main thread moves: a plain row begun or ended, rows of a fold taken. */
  progress_at = 0;
  /** When the worker last showed that it lives. */
  heard_at = 0;
  /** The row that the worker said it runs. */
  running: { call: number; row: number } | undefined;
  /** Takes no more rows and is replaced when it has none left. */
  is_retiring = false;
  ready_at = 0;
  /** Whether the process has answered a call. */
  has_worked = false;
  /** Why we ended the process. */
  blame: FailureAttribution | undefined;
  /** The culprit is known and already charged. */
  is_charged = false;
  /** Its memory when it was ready; undefined until it is known. */
  base_bytes: number | undefined;
  readonly #graphs = new Map<string, number>();

  /** Takes a new process. */
  begin(process: WorkerProcess): void {
    this.process = process;
    this.chunks = [];
    this.flows = new Map();
    this.folds = new Map();
    this.running = undefined;
    this.is_retiring = false;
    this.has_worked = false;
    this.blame = undefined;
    this.is_charged = false;
    this.base_bytes = undefined;
    this.#graphs.clear();
  }

  /** Whether nothing at all runs in it. */
  get isIdle(): boolean {
    return this.isOpen && this.chunks.length === 0 && this.flows.size === 0 && this.folds.size === 0;
  }

  /** Whether rows of a fold are on their way. */
  get isFed(): boolean {
    return [...this.folds.values()].some((fold) => fold.isFed);
  }

  get isBusy(): boolean {
    return this.chunks.length > 0 || this.flows.size > 0 || this.isFed;
  }

  /** Rows of concurrent graphs that are under way. */
  get flowing(): number {
    let rows = 0;
    for (const chunk of this.flows.values()) rows += chunk.left;
    return rows;
  }

  /** All rows that are under way. */
  get rows(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.left, this.flowing);
  }

  /** Whether it may be given rows at all. */
  get isOpen(): boolean {
    return this.process?.isReady === true && !this.is_retiring && this.blame === undefined;
  }

  /** Sends rows of one graph under a call number, and the graph before if the process does not know it. */
  run(
    call: number,
    rows: GraphRows,
    load: readonly QueuedRow[] | BatchPart,
    how: { is_solo: boolean; is_concurrent: boolean },
    now: number,
  ): void {
    const process = this.process as WorkerProcess;
    const { graph, kinds } = rows;
    let number = this.#graphs.get(graph.key);
    if (number === undefined) {
      number = this.#graphs.size + 1;
      this.#graphs.set(graph.key, number);
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

  /** The chunk of a call. @throws Error when the worker names a call that is not its own */
  chunk(call: number): Chunk {
    const chunk = this.chunks.find((one) => one.call === call) ?? this.flows.get(call);
    if (chunk === undefined) throw new Error(`call ${call} is not in flight`);
    return chunk;
  }

  /** Takes note that a fold is about to give the worker something to do: its time begins now if nothing else runs. */
  noteFold(now: number): void {
    if (this.chunks.length === 0 && !this.isFed) this.progress_at = now;
    if (!this.isBusy) this.heard_at = now;
  }

  /** Takes note that rows of a call have come. */
  noteRows(call: number, now: number): void {
    if (!this.flows.has(call)) this.progress_at = now;
    if (this.running?.call === call) this.running = undefined;
  }

  /** Takes the rows that a `rows` frame answers out of their chunk: those of a batch go to their places in it, whose number
   *  it gives back; `onRow` gets the others, `k` being a row's place in the frame. */
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

  /** Ends a chunk and lets the next begin. @throws Error when rows of it have no answer */
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

  /** Takes the row that certainly runs now out of its chunk: the one that was named, or the last that is left. */
  takeRunning(): QueuedRow | undefined {
    const chunk = this.chunks[0];
    if (chunk === undefined) return undefined;
    const named = this.running?.call === chunk.call ? this.running.row : -1;
    const index = chunk.rows[named] === undefined && chunk.left === 1 ? chunk.rows.findIndex(Boolean) : named;
    return takeOne(chunk, index);
  }

  /** Takes a row that the worker named out of its chunk. */
  takeRow(call: number, index: number): QueuedRow | undefined {
    const chunk = this.chunks.find((one) => one.call === call) ?? this.flows.get(call);
    return chunk === undefined ? undefined : takeOne(chunk, index);
  }

  /** Takes all rows that are not begun, for another worker: those after the one that runs now. */
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
