import type { EngineValue, TypeKind } from "@appdb/contract/types";
import type { UdfGraph, UdfResult } from "@appdb/engine/ports";
import { Pace } from "./pace.ts";
import type { BatchPart, WorkerBatch } from "./worker-batch.ts";
import { asksQueries } from "./worker-functions.ts";

/** A chunk holds no more text and bytes than this, one long row excepted: it lies in memory on both sides. */
const MAX_CHUNK_CHARACTERS = 1_000_000;

/** A row that a caller awaits. */
export interface QueuedRow {
  readonly graph: GraphRows;
  readonly values: readonly EngineValue[];
  readonly resolve: (result: UdfResult) => void;
  readonly reject: (error: unknown) => void;
  /** Stops listening to the caller's signal; undefined without one. */
  forget: (() => void) | undefined;
  /** How often a worker ended while it may have run this row. */
  strikes: number;
  state: "waiting" | "sent" | "answered";
}

/** The rows of one graph that wait. */
export interface GraphRows {
  readonly graph: UdfGraph;
  readonly kinds: readonly TypeKind[];
  readonly pace: Pace;
  readonly asks_queries: boolean;
  rows: QueuedRow[];
  /** Index of the first waiting row in `rows`. */
  head: number;
  /** Batches with rows that nobody has taken, oldest first; they come after `rows`. */
  batches: WorkerBatch[];
  is_listed: boolean;
}

/**
 * Rows that wait for a worker: by graph, graphs in turns. Suspects, whose worker ended, wait apart: each runs alone.
 * A row whose caller went away stays in its place, answered, and is passed over.
 */
export class RowQueue {
  readonly #graphs = new Map<string, GraphRows>();
  #turns: GraphRows[] = [];
  #suspects: QueuedRow[] = [];
  /** Rows that wait, suspects included. */
  waiting = 0;

  graphRows(graph: UdfGraph): GraphRows {
    let rows = this.#graphs.get(graph.key);
    if (rows === undefined) {
      const kinds = graph.inputs.map((input) => input.type.kind);
      const asks_queries = asksQueries(graph.steps);
      rows = { graph, kinds, pace: new Pace(), asks_queries, rows: [], head: 0, batches: [], is_listed: false };
      this.#graphs.set(graph.key, rows);
    }
    return rows;
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
  }

  /** Puts rows of a graph that were sent but not run before all others of it. */
  addFirst(graph: GraphRows, rows: readonly QueuedRow[]): void {
    const open = rows.filter(isSent);
    if (open.length === 0) return;
    for (const row of open) row.state = "waiting";
    graph.rows.splice(graph.head, 0, ...open);
    this.waiting += open.length;
    this.#list(graph);
  }

  /** Puts rows that may have ended their worker in line to run alone. */
  addSuspects(rows: readonly QueuedRow[]): void {
    const open = rows.filter(isSent);
    for (const row of open) {
      row.state = "waiting";
      row.strikes += 1;
    }
    this.#suspects.push(...open);
    this.waiting += open.length;
  }

  /** Takes note that a waiting row's caller went away. */
  drop(): void {
    this.waiting -= 1;
  }

  /** The graph whose rows come next, but for those in `blocked`. */
  next(blocked: ReadonlySet<GraphRows>): GraphRows | undefined {
    this.#turns = this.#turns.filter((graph) => {
      skipAnswered(graph);
      if (waitingRows(graph) > 0) return true;
      Object.assign(graph, { rows: [], head: 0, is_listed: false });
      return false;
    });
    return this.#turns.find((graph) => !blocked.has(graph));
  }

  /** Takes up to `count` rows of a graph's oldest batch, unless rows wait that come before; its next turn comes after the
   *  others'. */
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

  /** Takes up to `count` rows of a graph, those of batches last; its next turn comes after the others'. */
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
    // Let go of rows that were taken, at a cost that stays linear.
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

/** Rows of a graph that wait; of those that callers await one by one some may have been given up. */
export function waitingRows(graph: GraphRows): number {
  return graph.batches.reduce((sum, batch) => sum + batch.left, graph.rows.length - graph.head);
}

function skipAnswered(graph: GraphRows): void {
  while (graph.head < graph.rows.length && (graph.rows[graph.head] as QueuedRow).state !== "waiting") {
    graph.head += 1;
  }
}

function isSent(row: QueuedRow): boolean {
  return row.state === "sent";
}
