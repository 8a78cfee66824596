import { performance } from "node:perf_hooks";
import type { SqlPool } from "./ports.ts";

/** Milliseconds that a request waited: for PostgreSQL, its turn in a batch included, and for Python. */
export class Timing {
  db = 0;
  py = 0;

  /** Counts the time until `work` settles. */
  measure<T>(part: "db" | "py", work: Promise<T>): Promise<T> {
    const since = performance.now();
    return work.finally(() => {
      this[part] += performance.now() - since;
    });
  }

  /** Counts as Python's what of the time until `work` settles is not PostgreSQL's. */
  restOf<T>(work: Promise<T>): Promise<T> {
    const since = performance.now();
    const { db } = this;
    return work.finally(() => {
      this.py += performance.now() - since - (this.db - db);
    });
  }

  /** The pool, with the time of its statements counted. */
  sql(pool: SqlPool): StatementPool {
    return {
      query: (statement) => this.measure("db", pool.query(statement)),
      transaction: (work) =>
        pool.transaction((connection) =>
          work({
            query: (statement) => this.measure("db", connection.query(statement)),
            copy: (text, rows) => this.measure("db", connection.copy(text, rows)),
          }),
        ),
    };
  }
}

/** What runs statements, by themselves or in a transaction. */
export type StatementPool = Pick<SqlPool, "query" | "transaction">;

/** Counts the time until `work` settles, if somebody wants to know it. */
export function measured<T>(timing: Timing | undefined, part: "db" | "py", work: Promise<T>): Promise<T> {
  return timing === undefined ? work : timing.measure(part, work);
}
