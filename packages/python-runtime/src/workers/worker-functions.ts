import type { GraphStep, WorkerFunction } from "@appdb/contract/worker-protocol";
import { visit } from "@appdb/engine/expressions/tree";
import type { CallPools } from "./call-pools.ts";
import type { GraphRows } from "./row-queue.ts";

/** Rows of concurrent graphs that are under way in one worker, where neither pool nor batch asks for more: enough for slow
 *  ones beside quick ones, and well below the files that a process may have open. Pools set narrower limits. */
export const CONCURRENT_ROWS = 256;
/** Batches of a function that are under way at once: one runs, others fill. */
const BATCHES = 4;

/** What the workers said about the application's functions when they started. */
export class WorkerFunctions {
  readonly #byId = new Map<string, WorkerFunction>();
  readonly #pools: CallPools;

  constructor(pools: CallPools) {
    this.#pools = pools;
  }

  /** Takes what a worker says; the last one to start is right. */
  learn(functions: readonly WorkerFunction[]): void {
    for (const fn of functions) this.#byId.set(fn.id, fn);
  }

  knows(id: string): boolean {
    return this.#byId.has(id);
  }

  /** How many rows of a graph may be under way at once in one worker; undefined for a graph whose rows run in turn. */
  concurrency(graph: GraphRows): number | undefined {
    const functions = this.#of(graph);
    if (!graph.asks_queries && !functions.some((fn) => fn.is_concurrent)) return undefined;
    const wanted = functions.map((fn) => {
      const pool = fn.resource_pool === null ? undefined : this.#pools.limits(fn.resource_pool);
      return Math.max(pool?.max_concurrent ?? 0, (fn.batch_size ?? 0) * BATCHES);
    });
    return Math.max(CONCURRENT_ROWS, ...wanted);
  }

  /** How long one row of a graph may run: the functions' own limits, and the general one for those without. */
  rowLimitMs(graph: GraphRows, generalMs: number): number {
    const limits = this.#of(graph).map((fn) => fn.timeout_s);
    const ownMs = limits.reduce<number>((sum, limit) => sum + (limit ?? 0) * 1000, 0);
    const isAllOwn = limits.length === graph.graph.functions.length && !limits.includes(null) && limits.length > 0;
    return isAllOwn ? ownMs : generalMs + ownMs;
  }

  #of(graph: GraphRows): WorkerFunction[] {
    return graph.graph.functions.flatMap(({ id }) => this.#byId.get(id) ?? []);
  }
}

/** Whether some step asks a query of the application. */
export function asksQueries(steps: readonly GraphStep[]): boolean {
  let found = false;
  for (const step of steps) {
    visit(step.expr, (node) => {
      found ||= node.node === "query";
    });
  }
  return found;
}
