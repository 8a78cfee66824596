import type { FunctionCounts } from "@appdb/contract/worker-protocol";

/** Call counts of functions over all workers of a runner. */
export class FunctionTotals {
  readonly #totals = new Map<string, FunctionCounts>();
  /** Running calls by worker. */
  readonly #running = new Map<object, Map<string, number>>();

  /** Adds the counts since the worker's last report. */
  add(worker: object, functions: Readonly<Record<string, FunctionCounts>>): void {
    const running = this.#running.get(worker) ?? new Map<string, number>();
    this.#running.set(worker, running);
    for (const [id, counts] of Object.entries(functions)) {
      const total = this.#total(id);
      for (const name of ["calls", "errors", "rows", "seconds", "retries"] as const) total[name] += counts[name];
      running.set(id, counts.running);
    }
  }

  /** Counts a call that ended with its worker. */
  failed(id: string): void {
    this.#total(id).errors += 1;
  }

  /** Removes the running calls of a worker that ended. */
  drop(worker: object): void {
    this.#running.delete(worker);
  }

  all(): Record<string, FunctionCounts> {
    return Object.fromEntries(
      [...this.#totals].map(([id, total]) => {
        const running = [...this.#running.values()].reduce((sum, of) => sum + (of.get(id) ?? 0), 0);
        return [id, { ...total, running }];
      }),
    );
  }

  #total(id: string): FunctionCounts {
    let total = this.#totals.get(id);
    if (total === undefined) {
      total = { calls: 0, errors: 0, rows: 0, seconds: 0, retries: 0, running: 0 };
      this.#totals.set(id, total);
    }
    return total;
  }
}
