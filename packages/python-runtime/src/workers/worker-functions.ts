import type { GraphStep, WorkerFunction } from "@appdb/contract/worker-protocol";
import { visit } from "@appdb/engine/expressions/tree";
import type { CallPools } from "./call-pools.ts";
import type { GraphRows } from "./row-queue.ts";

/**
 * Maximum running rows of concurrent graphs in one worker, unless a pool or batch allows more. Enough for slow and fast
 * rows together, and far below the open-file limit. Pools set narrower limits.
 */
export const CONCURRENT_ROWS = 256;
/** Concurrent batches of a function: one runs while others fill. */
const BATCHES = 4;

/** The application's functions as the workers reported them at their start. */
export class WorkerFunctions {
  readonly #byId = new Map<string, WorkerFunction>();
  readonly #pools: CallPools;

  constructor(pools: CallPools) {
    this.#pools = pools;
  }

  /** Stores a worker's report; the latest start wins. */
  learn(functions: readonly WorkerFunction[]): void {
    for (const fn of functions) this.#byId.set(fn.id, fn);
  }

  knows(id: string): boolean {
    return this.#byId.has(id);
  }

  /** Maximum concurrent rows of a graph in one worker. Undefined for a graph whose rows run one at a time. */
  concurrency(graph: GraphRows): number | undefined {
    const functions = this.#of(graph);
    if (!graph.asks_queries && !functions.some((fn) => fn.is_concurrent)) return undefined;
    const limits = functions.map((fn) => {
      const pool = fn.resource_pool === null ? undefined : this.#pools.limits(fn.resource_pool);
      return Math.max(pool?.max_concurrent ?? 0, (fn.batch_size ?? 0) * BATCHES);
    });
    return Math.max(CONCURRENT_ROWS, ...limits);
  }

  /** Time limit of one row: the functions' own limits, and the general limit for those without. */
  rowLimitMs(graph: GraphRows, generalMs: number): number {
    const ownMs = this.#of(graph).reduce((sum, fn) => sum + (fn.timeout_s ?? 0) * 1000, 0);
    return this.hasOnlyOwnLimits(graph) ? ownMs : generalMs + ownMs;
  }

  /** Whether each function of a row has a limit of its own, which the worker measures where the function runs. */
  hasOnlyOwnLimits(graph: GraphRows): boolean {
    const limits = this.#of(graph).map((fn) => fn.timeout_s);
    return limits.length === graph.graph.functions.length && !limits.includes(null) && limits.length > 0;
  }

  #of(graph: GraphRows): WorkerFunction[] {
    return graph.graph.functions.flatMap(({ id }) => this.#byId.get(id) ?? []);
  }
}

/** Whether a step runs a query of the application. */
export function asksQueries(steps: readonly GraphStep[]): boolean {
  let found = false;
  for (const step of steps) {
    visit(step.expr, (node) => {
      found ||= node.node === "query";
    });
  }
  return found;
}
