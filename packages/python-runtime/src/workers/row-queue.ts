import type { EngineValue, TypeKind } from "@appdb/contract/types";
import type { UdfGraph, UdfResult } from "@appdb/engine/ports";
import { KNOWN_GRAPHS } from "./graph-numbers.ts";
import type { BatchPart, WorkerBatch } from "./worker-batch.ts";
import { asksQueries } from "./worker-functions.ts";

/** Target duration of a chunk: imperceptible for users, but long compared with the cost of a frame. */
const CHUNK_MS = 15;
const MAX_CHUNK_ROWS = 256;
/** Limit for rows sent as columns, where no caller waits for the first row. */
const MAX_PART_ROWS = 1_024;
/** Rows faster than this may queue behind another chunk in the same worker, so that it never idles. */
const FAST_ROW_MS = 1;
/** Weight of the last chunk in the estimate. */
const WEIGHT = 0.5;

/** Estimates the duration of a graph's rows and derives chunk sizes. */
class Pace {
  /** Initial estimate: chunks of a few rows. */
  #rowMs = 4;

  /** Maximum rows of a chunk. */
  get chunkRows(): number {
    return this.#rows(MAX_CHUNK_ROWS);
  }

  /** Maximum rows of a part of a batch. */
  get partRows(): number {
    return this.#rows(MAX_PART_ROWS);
  }

  /** Whether a second chunk may be in flight behind a first. */
  get isFast(): boolean {
    return this.#rowMs <= FAST_ROW_MS;
  }

  /** Records that `rows` rows took `ms` together. */
  note(rows: number, ms: number): void {
    this.#rowMs = this.#rowMs * (1 - WEIGHT) + Math.max(ms / rows, 0.001) * WEIGHT;
  }

  #rows(max: number): number {
    return Math.max(1, Math.min(max, Math.floor(CHUNK_MS / this.#rowMs)));
  }
}

/** Maximum text and bytes of a chunk, except for a single long row, because both sides keep it in memory. */
const MAX_CHUNK_CHARACTERS = 1_000_000;

/** A row that a caller awaits. */
export interface QueuedRow {
  readonly graph: GraphRows;
  readonly values: readonly EngineValue[];
  readonly resolve: (result: UdfResult) => void;
  readonly reject: (error: unknown) => void;
  /** Removes the listener on the caller's signal; undefined without one. */
  forget: (() => void) | undefined;
  /** Number of workers that ended while they may have run this row. */
  strikes: number;
  state: "waiting" | "sent" | "answered";
  /** The batch of which it is a part. */
  readonly batch?: WorkerBatch;
}

/** Waiting rows of one graph. */
export interface GraphRows {
  readonly graph: UdfGraph;
  readonly kinds: readonly TypeKind[];
  readonly pace: Pace;
  readonly asks_queries: boolean;
  rows: QueuedRow[];
  /** Index of the first waiting row in `rows`. */
  head: number;
  /** Batches with waiting rows, oldest first; they come after `rows`. */
  batches: WorkerBatch[];
  is_listed: boolean;
}

/**
 * Rows that wait for a worker. Graphs take turns. Suspects, whose worker ended, wait separately and run alone. A row
 * whose caller left keeps its slot, marked as answered, and is skipped.
 */
export class RowQueue {
  readonly #graphs = new Map<string, GraphRows>();
  #turns: GraphRows[] = [];
  #suspects: QueuedRow[] = [];
  /** Number of waiting rows, suspects included. */
  waiting = 0;

  graphRows(graph: UdfGraph): GraphRows {
    let rows = this.#graphs.get(graph.key);
    if (rows === undefined) {
      const kinds = graph.inputs.map((input) => input.type.kind);
      const asks_queries = asksQueries(graph.steps);
      rows = { graph, kinds, pace: new Pace(), asks_queries, rows: [], head: 0, batches: [], is_listed: false };
      this.#graphs.set(graph.key, rows);
      if (this.#graphs.size > KNOWN_GRAPHS) this.#forgetOne(graph.key);
    }
    return rows;
  }

  /** Forgets the oldest graph that waits for nothing, except `kept`. Its running rows have it themselves. */
  #forgetOne(kept: string): void {
    for (const [key, { is_listed: isListed }] of this.#graphs) {
      if (isListed || key === kept) continue;
      this.#graphs.delete(key);
      return;
    }
  }

  get hasSuspects(): boolean {
    return this.#suspects.length > 0;
  }

  add(row: QueuedRow): void {
    row.graph.rows.push(row);
    this.waiting += 1;
    this.#list(row.graph);
  }

  addBatch(batch: WorkerBatch): void {
    batch.graph.batches.push(batch);
    this.waiting += batch.left;
    this.#list(batch.graph);
    batch.results.onDrop(() => this.#dropBatch(batch));
  }

  /** Drops the waiting rows of a batch, and those that returned to the queue. */
  #dropBatch(batch: WorkerBatch): void {
    const { graph } = batch;
    this.waiting -= batch.left;
    batch.drop();
    graph.batches = graph.batches.filter((other) => other !== batch);
    for (const row of [...graph.rows.slice(graph.head), ...this.#suspects]) {
      if (row.batch !== batch || row.state !== "waiting") continue;
      row.state = "answered";
      this.waiting -= 1;
    }
  }

  /** Returns unstarted rows of a graph to the front of its queue. */
  addFirst(graph: GraphRows, rows: readonly QueuedRow[]): void {
    const open = rows.filter(isSent);
    if (open.length === 0) return;
    for (const row of open) row.state = "waiting";
    graph.rows.splice(graph.head, 0, ...open);
    this.waiting += open.length;
    this.#list(graph);
  }

  /** Queues rows that may have ended their worker, to run alone. */
  addSuspects(rows: readonly QueuedRow[]): void {
    const open = rows.filter(isSent);
    for (const row of open) {
      row.state = "waiting";
      row.strikes += 1;
    }
    this.#suspects.push(...open);
    this.waiting += open.length;
  }

  /** Records that a waiting row's caller left. */
  drop(): void {
    this.waiting -= 1;
  }

  /** The graph whose rows come next, except those in `blocked`. */
  next(blocked: ReadonlySet<GraphRows>): GraphRows | undefined {
    this.#turns = this.#turns.filter((graph) => {
      skipAnswered(graph);
      if (waitingRows(graph) > 0) return true;
      Object.assign(graph, { rows: [], head: 0, is_listed: false });
      return false;
    });
    return this.#turns.find((graph) => !blocked.has(graph));
  }

  /**
   * Takes up to `count` rows of a graph's oldest batch, unless individual rows wait. The graph then moves to the end of
   * the turn order.
   */
  takePart(graph: GraphRows, count: number): BatchPart | undefined {
    const [batch] = graph.batches;
    skipAnswered(graph);
    if (batch === undefined || graph.head < graph.rows.length) return undefined;
    const part = batch.take(count, MAX_CHUNK_CHARACTERS);
    if (batch.left === 0) graph.batches.shift();
    this.waiting -= part.count;
    this.#endTurn(graph);
    return part;
  }

  /** Takes up to `count` rows of a graph, individual rows first. The graph then moves to the end of the turn order. */
  take(graph: GraphRows, count: number): QueuedRow[] {
    const taken: QueuedRow[] = [];
    let characters = 0;
    while (taken.length < count && characters < MAX_CHUNK_CHARACTERS && graph.head < graph.rows.length) {
      const row = graph.rows[graph.head++] as QueuedRow;
      if (row.state !== "waiting") continue;
      row.state = "sent";
      for (const value of row.values)
        if (typeof value === "string" || value instanceof Uint8Array) characters += value.length;
      taken.push(row);
    }
    if (taken.length === 0) {
      const part = this.takePart(graph, count);
      return part === undefined ? [] : Array.from({ length: part.count }, (_, k) => part.batch.row(part.first + k));
    }
    this.waiting -= taken.length;
    // Releases taken rows at linear total cost.
    if (graph.head > 1024 && graph.head * 2 > graph.rows.length) {
      graph.rows = graph.rows.slice(graph.head);
      graph.head = 0;
    }
    this.#endTurn(graph);
    return taken;
  }

  takeSuspect(): QueuedRow | undefined {
    for (let row = this.#suspects.shift(); row !== undefined; row = this.#suspects.shift()) {
      if (row.state !== "waiting") continue;
      row.state = "sent";
      this.waiting -= 1;
      return row;
    }
    return undefined;
  }

  /** Empties the queue. */
  takeAll(): QueuedRow[] {
    const rows = [...this.#suspects, ...this.#turns.flatMap((graph) => graph.rows.slice(graph.head))];
    for (const graph of this.#turns) Object.assign(graph, { rows: [], head: 0, is_listed: false });
    this.#turns = [];
    this.#suspects = [];
    this.waiting = 0;
    return rows.filter((row) => row.state === "waiting");
  }

  /** Empties the queue of batches. */
  takeBatches(): WorkerBatch[] {
    const batches = this.#turns.flatMap((graph) => graph.batches.splice(0));
    for (const batch of batches) this.waiting -= batch.left;
    return batches;
  }

  #endTurn(graph: GraphRows): void {
    if (this.#turns.length > 1) this.#turns = [...this.#turns.filter((other) => other !== graph), graph];
  }

  #list(graph: GraphRows): void {
    if (graph.is_listed) return;
    graph.is_listed = true;
    this.#turns.push(graph);
  }
}

/** Number of waiting rows of a graph. May include rows whose caller left. */
export function waitingRows(graph: GraphRows): number {
  return graph.batches.reduce((sum, batch) => sum + batch.left, graph.rows.length - graph.head);
}

function skipAnswered(graph: GraphRows): void {
  while (graph.head < graph.rows.length && (graph.rows[graph.head] as QueuedRow).state !== "waiting") {
    graph.head += 1;
  }
}

/** Whether a worker had it, and its caller still waits. */
function isSent(row: QueuedRow): boolean {
  return row.state === "sent" && row.batch?.is_dropped !== true;
}
