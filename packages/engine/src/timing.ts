import { performance } from "node:perf_hooks";
import type { GraphFunction } from "@appdb/contract/worker-protocol";
import type { SqlPool } from "./ports.ts";

/** The target of a request's wait. */
export type TimedPart = "db" | "py";

/** Records each wait when it ends; times are of `performance.now()`. `functions` are the application functions that
 *  Python ran. */
export type NotePart = (
  part: TimedPart,
  sinceMs: number,
  untilMs: number,
  functions: readonly GraphFunction[] | undefined,
) => void;

/** Milliseconds that a request waited for PostgreSQL, including its turn in a batch, and for Python. */
export class Timing {
  db = 0;
  py = 0;
  readonly #note: NotePart | undefined;

  constructor(note?: NotePart) {
    this.#note = note;
  }

  /** Counts the time until `work` settles. */
  measure<T>(part: TimedPart, work: Promise<T>, functions?: readonly GraphFunction[]): Promise<T> {
    const since = performance.now();
    return work.finally(() => {
      const until = performance.now();
      this[part] += until - since;
      this.#note?.(part, since, until, functions);
    });
  }

  /** Counts the time until `work` settles as Python's, minus PostgreSQL's part. */
  restOf<T>(work: Promise<T>): Promise<T> {
    const since = performance.now();
    const { db } = this;
    return work.finally(() => {
      const until = performance.now();
      this.py += until - since - (this.db - db);
      this.#note?.("py", since, until, undefined);
    });
  }

  /** The pool with timed statements. */
  sql(pool: SqlPool): StatementPool {
    return {
      query: (statement) => this.measure("db", pool.query(statement)),
      transaction: (work) =>
        pool.transaction((connection) =>
          work({
            query: (statement) => this.measure("db", connection.query(statement)),
            copy: (text, rows) => this.measure("db", connection.copy(text, rows)),
            process: connection.process,
          }),
        ),
    };
  }
}

/** Runs statements, alone or in a transaction. */
export type StatementPool = Pick<SqlPool, "query" | "transaction">;

/** Counts the time until `work` settles, if the caller wants it. */
export function measured<T>(
  timing: Timing | undefined,
  part: TimedPart,
  work: Promise<T>,
  functions?: readonly GraphFunction[],
): Promise<T> {
  return timing === undefined ? work : timing.measure(part, work, functions);
}
